"""scikit-learn and PyAMG on csr and csc, whose compiled code writes to index arrays, or asks for arrays to write to."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import diagsparse as ds

pytestmark = pytest.mark.filterwarnings("ignore")
FORMATS = pytest.mark.parametrize("format", ["csr", "csc"])
ROWS, COLUMNS = 80, 12
RNG = np.random.default_rng(5)
DENSE = RNG.random((ROWS, COLUMNS)) * (RNG.random((ROWS, COLUMNS)) < 0.4)
POINTS = RNG.random((ROWS, 2))
CLASSES = (DENSE[:, 0] + DENSE[:, 1] > 0.4).astype(int)
TARGET = DENSE @ np.arange(COLUMNS) + 1


def sklearn(name):
    """Return a name of one of its modules."""
    module, _, what = name.rpartition(".")
    return getattr(pytest.importorskip(f"sklearn.{module}"), what)


def graph(format="csr"):
    """Return distances to neighbours within a radius, sorted by columns, as SciPy's."""
    pytest.importorskip("sklearn")
    from sklearn.neighbors import radius_neighbors_graph

    result = radius_neighbors_graph(POINTS, 0.35, mode="distance", include_self=False)
    result.sort_indices()
    index = [part.astype(np.int32) for part in (result.indices, result.indptr)]  # compiled code refuses wider ones
    return sp.csr_array((result.data, *index), shape=result.shape).asformat(format)


def features(format):
    return sp.csr_array(DENSE).asformat(format)


def dense(result):
    """Return what an estimator gave as arrays."""
    if isinstance(result, tuple):
        return [dense(part) for part in result]
    return [result.toarray() if sp.issparse(result) else np.asarray(result)]


def flat(result):
    return [part for item in result for part in (flat(item) if isinstance(item, list) else [item])]


ON_FEATURES = {
    "KMeans": lambda X: sklearn("cluster.KMeans")(3, random_state=0, n_init=1).fit(X).predict(X),
    "KMeans, elkan": lambda X: sklearn("cluster.KMeans")(3, random_state=0, n_init=1, algorithm="elkan").fit(X).labels_,
    "KMeans of a slice": lambda X: sklearn("cluster.KMeans")(3, random_state=0, n_init=1).fit(X[10:60]).predict(X[:30]),
    "MiniBatchKMeans": lambda X: sklearn("cluster.MiniBatchKMeans")(3, random_state=0, n_init=1).fit(X).predict(X),
    "BisectingKMeans": lambda X: sklearn("cluster.BisectingKMeans")(3, random_state=0).fit(X).predict(X),
    "PolynomialFeatures": lambda X: sklearn("preprocessing.PolynomialFeatures")(2).fit_transform(X),
    "PolynomialFeatures, 3": lambda X: sklearn("preprocessing.PolynomialFeatures")(3, interaction_only=True)
    .fit_transform(X),
    "StandardScaler": lambda X: sklearn("preprocessing.StandardScaler")(with_mean=False).fit_transform(X),
    "MaxAbsScaler": lambda X: sklearn("preprocessing.MaxAbsScaler")().fit_transform(X),
    "normalize": lambda X: sklearn("preprocessing.normalize")(X),
    "Binarizer": lambda X: sklearn("preprocessing.Binarizer")(threshold=0.5).fit_transform(X),
    "TfidfTransformer": lambda X: sklearn("feature_extraction.text.TfidfTransformer")().fit_transform(X),
    "VarianceThreshold": lambda X: sklearn("feature_selection.VarianceThreshold")(0.05).fit_transform(X),
    "SelectKBest": lambda X: sklearn("feature_selection.SelectKBest")(sklearn("feature_selection.chi2"), k=3)
    .fit_transform(X, CLASSES),
    "LogisticRegression": lambda X: sklearn("linear_model.LogisticRegression")().fit(X, CLASSES).coef_,
    "SGDClassifier": lambda X: sklearn("linear_model.SGDClassifier")(random_state=0).fit(X, CLASSES).coef_,
    "Ridge": lambda X: sklearn("linear_model.Ridge")(solver="sparse_cg").fit(X, TARGET).predict(X),
    "Lasso": lambda X: sklearn("linear_model.Lasso")(0.1).fit(X, TARGET).coef_,
    "LinearSVC": lambda X: sklearn("svm.LinearSVC")(random_state=0).fit(X, CLASSES).coef_,
    "SVC": lambda X: sklearn("svm.SVC")().fit(X, CLASSES).predict(X),
    "MultinomialNB": lambda X: sklearn("naive_bayes.MultinomialNB")().fit(X, CLASSES).predict(X),
    "DecisionTree": lambda X: sklearn("tree.DecisionTreeClassifier")(random_state=0).fit(X, CLASSES).predict(X),
    "RandomForest": lambda X: sklearn("ensemble.RandomForestRegressor")(5, random_state=0).fit(X, TARGET).predict(X),
    "TruncatedSVD": lambda X: sklearn("decomposition.TruncatedSVD")(2, random_state=0).fit(X).singular_values_,
    "NMF": lambda X: sklearn("decomposition.NMF")(2, init="nndsvda", max_iter=50).fit_transform(X),
    "LatentDirichletAllocation": lambda X: sklearn("decomposition.LatentDirichletAllocation")(2, random_state=0)
    .fit_transform(X),
    "KNeighborsClassifier": lambda X: sklearn("neighbors.KNeighborsClassifier")(3).fit(X, CLASSES).predict_proba(X),
    "pairwise_distances": lambda X: sklearn("metrics.pairwise_distances")(X),
    "cosine_similarity": lambda X: sklearn("metrics.pairwise.cosine_similarity")(X, dense_output=False),
    "train_test_split": lambda X: tuple(sklearn("model_selection.train_test_split")(X, random_state=0)),
    "shuffle": lambda X: sklearn("utils.shuffle")(X, random_state=0),
    "mean_variance_axis": lambda X: sklearn("utils.sparsefuncs.mean_variance_axis")(X, axis=0),
}  # fmt: skip


@FORMATS
@pytest.mark.parametrize("what", ON_FEATURES)
def test_estimators(format, what):
    A, S = ds.array(features(format), format), features(format)
    result, expected = (flat(dense(ON_FEATURES[what](X))) for X in (A, S))
    for one, other in zip(result, expected, strict=True):
        assert one.shape == other.shape and np.allclose(one, other, atol=1e-8)
    assert np.array_equal(A.toarray(), S.toarray())


ON_GRAPHS = {
    "NearestNeighbors": lambda G: sklearn("neighbors.NearestNeighbors")(n_neighbors=4, metric="precomputed").fit(G)
    .kneighbors(G),
    "NearestNeighbors, itself": lambda G: sklearn("neighbors.NearestNeighbors")(n_neighbors=4, metric="precomputed")
    .fit(G).kneighbors(),
    "NearestNeighbors, graph": lambda G: sklearn("neighbors.NearestNeighbors")(n_neighbors=4, metric="precomputed")
    .fit(G).kneighbors_graph(G),
    "LocalOutlierFactor": lambda G: sklearn("neighbors.LocalOutlierFactor")(4, metric="precomputed").fit(G)
    .negative_outlier_factor_,
    "KNeighborsRegressor": lambda G: sklearn("neighbors.KNeighborsRegressor")(4, metric="precomputed").fit(G, TARGET)
    .predict(G),
    "DBSCAN": lambda G: sklearn("cluster.DBSCAN")(eps=0.15, metric="precomputed").fit(G).labels_,
    "sort_graph_by_row_values": lambda G: sklearn("neighbors.sort_graph_by_row_values")(G, copy=True),
    "SpectralClustering": lambda G: sklearn("cluster.SpectralClustering")(2, affinity="precomputed", random_state=0)
    .fit(G.maximum(G.T)).labels_,
    "AgglomerativeClustering": lambda G: sklearn("cluster.AgglomerativeClustering")(
        3, connectivity=G.to_scipy() if hasattr(G, "to_scipy") else G).fit(POINTS).labels_,
    "connected_components": lambda G: sp.csgraph.connected_components(G)[1],
}  # fmt: skip


@FORMATS
@pytest.mark.parametrize("what", ON_GRAPHS)
def test_graphs_of_neighbours(format, what):
    A, S = ds.array(graph(format), format), graph(format)
    result, expected = (flat(dense(ON_GRAPHS[what](X))) for X in (A, S))
    for one, other in zip(result, expected, strict=True):
        assert one.shape == other.shape and np.allclose(one, other, atol=1e-8)
    assert np.array_equal(A.toarray(), S.toarray())


def test_graphs_sorted_in_place():
    """Rows of different lengths, one by one, and of one length, all at once; then the graph is used as it is."""
    for S in (graph(), graph()[:, :2] @ sp.csr_array(np.ones((2, 2)))):
        S.sort_indices()
        A = ds.csr_array(S, copy=True)
        sort = sklearn("neighbors.sort_graph_by_row_values")
        assert sort(A, copy=False) is A
        sort(S, copy=False)
        assert np.array_equal(A.indices, S.indices) and np.array_equal(A.data, S.data)
        x = np.ones(S.shape[1])
        assert np.allclose(A @ x, S @ x) and np.array_equal(A.indices, S.indices)
        assert np.array_equal(A.toarray(), S.toarray())


@FORMATS
@pytest.mark.parametrize("what", ["row", "column"])
def test_rows_and_columns_are_swapped(format, what):
    A, S = ds.array(features(format), format), features(format)
    for X in (A, S):
        sklearn(f"utils.sparsefuncs.inplace_swap_{what}")(X, 2, 7)
    assert np.array_equal(A.toarray(), S.toarray())
    x = np.arange(COLUMNS)
    assert np.allclose(A @ x, S @ x)
    for X in (A, S):
        sklearn("utils.sparsefuncs.inplace_column_scale")(X, 1.0 + x)
    assert np.allclose(A.toarray(), S.toarray())


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "hm"])
def test_pyamg(format):
    pyamg = pytest.importorskip("pyamg")
    from pyamg.util import utils

    S = sp.csr_array(sp.random_array((40, 40), density=0.3, rng=np.random.default_rng(2)))
    A = ds.array(S, format)
    result, expected = utils.truncate_rows(A, 3), utils.truncate_rows(S, 3)
    assert np.array_equal(sp.csr_array(result).toarray(), expected.toarray())
    assert np.array_equal(A.toarray(), S.toarray())
    P = sp.csr_array(pyamg.gallery.poisson((12, 12)))
    A = ds.array(P, format)
    b = np.ones(P.shape[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for solver in (pyamg.ruge_stuben_solver, pyamg.smoothed_aggregation_solver):
            result, expected = (solver(X).solve(b, tol=1e-12) for X in (A, P))
            assert np.allclose(result, expected)
    assert np.array_equal(A.toarray(), P.toarray())

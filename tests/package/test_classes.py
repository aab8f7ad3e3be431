"""Classes of matrices and of formats: each is assembled from few others, and a matrix has few private names."""

import inspect

import pytest

import diagsparse as ds

FORMATS = pytest.mark.parametrize("format", ds.formats())
MOST_BASES = 4
MOST_PRIVATE_NAMES = 30


def bases(cls):
    return [base for base in inspect.getmro(cls)[1:] if base is not object]


@FORMATS
def test_few_bases(format):
    cls = getattr(ds, f"{format}_array")
    assert len(bases(cls)) <= MOST_BASES, bases(cls)
    assert len(bases(type(cls._format))) <= MOST_BASES, bases(type(cls._format))


@FORMATS
def test_few_private_names(format):
    names = [name for name in dir(getattr(ds, f"{format}_array")) if name[0] == "_" and name[1] != "_"]
    assert len(names) <= MOST_PRIVATE_NAMES, names


@FORMATS
def test_a_format_and_its_class_refer_to_each_other(format):
    cls = getattr(ds, f"{format}_array")
    assert cls._format.array is cls and cls._format.name == cls.format == format


def test_a_format_is_registered_once():
    with pytest.raises(TypeError, match=r"format 'hm' is that of hm_array"):

        class Another(ds.hm_array):
            _format = type(ds.hm_array._format)("hm")

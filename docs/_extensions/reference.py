"""The API reference: pages of the site get the entries of what they are about, as the package has it.

A page asks for them in comments: ``<!-- names: GROUP -->``, ``<!-- every matrix -->``, ``<!-- module: NAME -->`` and
``<!-- commands -->``. The page of a format ends with its class.
"""

import inspect
import re

from click.testing import CliRunner
from public_names import SUBJECTS, home, is_format, members, module_named, names_of, returned_by, subjects
from sphinx import addnodes
from sphinx.domains.python import ObjectEntry

import diagsparse as ds
from diagsparse._matrix.sparse_array import SparseArray
from diagsparse.cli import main

EVERY = f"{SparseArray.__module__}.{SparseArray.__qualname__}"  # the class whose members every matrix has


def directives(*lines):
    return "\n".join(["```{eval-rst}", *lines, "```", ""])


def entry(path, thing, shown=()):
    """Return the directive that makes the entry of an object, and of those members of a class that are to be shown."""
    if inspect.isclass(thing):
        kind = "exception" if issubclass(thing, Exception) else "class"
    elif isinstance(thing, property):
        kind = "property"
    elif callable(thing) or isinstance(thing, (staticmethod, classmethod)):
        kind = "function" if path.count(".") == 1 else "method"
    else:
        kind = "attribute"
    options = [f"   :members: {', '.join(shown)}", "   :undoc-members:"] if shown else []
    return directives(f".. auto{kind}:: {path}", *options)


def of_group(match):
    """Return a table of the names of a group, their entries, and those of the classes that they return."""
    names = names_of(match[1])
    shown = [name for name in names if not is_format(name) and not inspect.ismodule(getattr(ds, name))]
    parts = [directives(".. autosummary::", "", *(f"   diagsparse.{name}" for name in names))]
    described = {f"diagsparse.{name}": getattr(ds, name) for name in shown}
    described |= {f"{cls.__module__}.{cls.__name__}": cls for cls in returned_by(shown)}
    parts += [entry(path, thing, members(thing) if inspect.isclass(thing) else ()) for path, thing in described.items()]
    return "\n".join(parts)


def of_every_matrix(match):
    """Return the entries of the members that every matrix has, by the module that defines them."""
    found, parts = subjects(), []
    for module, title in SUBJECTS.items():
        mine = {name: inspect.getattr_static(SparseArray, name) for name in found.pop(module, ())}
        parts += [f"## {title}\n", *(entry(f"{EVERY}.{name}", thing) for name, thing in mine.items())]
    if found:
        raise LookupError(f"{set(found)} have members and no title in SUBJECTS")
    return "\n".join(parts)


def of_format(format):
    """Return the entry of the class of a format, with the members that not every matrix has."""
    cls = getattr(ds, f"{format}_array")
    own = [name for name, owner in members(cls).items() if owner.__module__.startswith("diagsparse._formats.")]
    return "\n\n## The class\n\nWhat [every matrix](../api/matrix.md) has stands on a page of its own.\n\n" + entry(
        f"diagsparse.{format}_array", cls, own
    )


def of_module(match):
    """Return the entries of a module. One that a function of `ds` hides has no entry of its own, but its names have."""
    module = module_named(match[1])
    if getattr(ds, match[1], module) is module:
        shown_already = ", ".join(name for name in ds.__all__ if home(name) == f"{match[1]}.{name}")
        return directives(f".. automodule:: {module.__name__}", "   :members:", f"   :exclude-members: {shown_already}")
    named = {name: getattr(module, name) for name in module.__all__ if name not in ds.__all__}
    return "\n".join(entry(f"{module.__name__}.{name}", thing, members(thing)) for name, thing in named.items())


def of_commands(match):
    """Return the help of every command."""
    parts = []
    for name in main.commands:
        output = CliRunner().invoke(main, [name, "--help"], prog_name="diagsparse").output
        parts.append(f"## diagsparse {name}\n\n```text\n{output}```\n")
    return "\n".join(parts)


ASKED = {
    r"<!-- names: (\w+) -->": of_group,
    r"<!-- every matrix -->": of_every_matrix,
    r"<!-- module: (\w+) -->": of_module,
    r"<!-- commands -->": of_commands,
}


def fill(app, docname, source):
    for pattern, entries in ASKED.items():
        source[0] = re.sub(pattern, entries, source[0])
    folder, _, name = docname.rpartition("/")
    if folder == "formats":
        source[0] += of_format(name)


def call_by_what_users_type(app, doctree):
    """Call the members of every matrix ``A.name``, and classes that are found by no name of `ds` by their own alone."""
    for node in doctree.findall(addnodes.desc_addname):
        prefix = node.astext()
        if prefix.startswith("diagsparse._") or prefix == "SparseArray.":
            node.children[:] = [type(node.children[0])("A." if "SparseArray." in prefix else "")]


def members_of_every_class(app, env):
    """Let the members of every matrix be found under each class that has them: ``hm_array.matvec``."""
    objects = env.domains.python_domain.objects
    for cls in (getattr(ds, f"{format}_array") for format in ds.formats()):
        for name in members(cls):
            shared = objects.get(f"{EVERY}.{name}")
            path = f"diagsparse.{cls.__name__}.{name}"
            if path not in objects and shared:
                objects[path] = ObjectEntry(shared.docname, shared.node_id, shared.objtype, True)


def setup(app):
    app.connect("source-read", fill)
    app.connect("doctree-read", call_by_what_users_type)
    app.connect("env-updated", members_of_every_class)
    return {"parallel_read_safe": True}

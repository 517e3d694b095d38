"""Displays: figures, tables, images and the like, shown with a program's output.

HTML is always followed by the same object as plain text, and a table by its rows as JSON, for readers that show no HTML. What
an object shows of itself is the program's code: where it fails, that one form of it is left out and stderr says why.
"""

import base64
import functools
import io
import itertools
import sys
import types

from _hatchway.plain import SCALARS, encode
from _hatchway.surroundings import say

displays = []

LOOKED_AT = 16  # of what a tuple or dict holds; a list holds artists alone, or none
NESTED = 3
BACKEND = "module://_hatchway_backend"
LIKE_OURS = ("agg", "inline", "macosx", "nbagg", "notebook", "widget", "ipympl")
TEXT_MAX = 10_000
TABLE = "application/vnd.dataframe+json"
TABLE_ROWS = 1000
DISPLAYS_BYTES = 11 << 20  # of all displays of a program; the host takes no more than this and a result
RICH = (
    ("_repr_png_", "image/png"),
    ("_repr_jpeg_", "image/jpeg"),
    ("_repr_svg_", "image/svg+xml"),
    ("_repr_html_", "text/html"),
    ("_repr_markdown_", "text/markdown"),
    ("_repr_latex_", "text/latex"),
)


def add_display(mime, data):
    if isinstance(data, bytes):
        data = base64.b64encode(data).decode()
    displays.append({"mime": mime, "data": data})


def show_rich(value):
    """Adds what the object knows to show of itself; False if that is nothing."""
    if isinstance(value, type):
        return False
    whole = value.to_frame() if is_series(value) else value
    forms = bundled_forms(value)
    if forms is None:
        forms = {mime: form for name, mime in RICH if (form := form_of(whole, name)) is not None}
    if any(mime.startswith("text/") for mime in forms):
        text = forms.pop("text/plain", None)
        forms["text/plain"] = text if isinstance(text, str) else plain_text(value)
    for mime, form in forms.items():
        add_display(mime, form)
    if forms and is_table(whole) and (rows := call_form(Table(whole), "encode")) is not None:
        add_display(TABLE, rows)
    return bool(forms)


def bundled_forms(value):
    """What `_repr_mimebundle_` gives, by MIME type; None if the object has none."""
    data = call_form(value, "_repr_mimebundle_")
    data = data[0] if isinstance(data, tuple) and data else data
    if not isinstance(data, dict):
        return None
    forms = {}
    for mime, form in data.items():
        try:
            forms[str(mime)] = form if isinstance(form, (str, bytes)) else encode(form)
        except (TypeError, ValueError) as error:
            say(f"{type(value).__name__}._repr_mimebundle_ failed: its {mime} is no JSON: {error}\n")
    return forms


def form_of(value, name):
    """One form of the object, as text or bytes; None if it has none."""
    form = call_form(value, name)
    form = form[0] if isinstance(form, tuple) and form else form
    return form if isinstance(form, (str, bytes)) else None


def call_form(value, name):
    try:
        method = getattr(value, name, None)
        return method() if callable(method) else None
    except MemoryError:
        raise
    except Exception as error:
        say(f"{type(value).__name__}.{name} failed: {type(error).__name__}: {error}\n")
        return None


def shorten(value):
    """The beginning of a long list, or of one of long lists: as many items as there can be in the text that is shown of it."""
    if type(value) not in (list, tuple) or not value:
        return value
    room, items = TEXT_MAX, []
    for item in value[:TEXT_MAX]:
        items.append(item[:room] if type(item) in (list, tuple) else item)
        room -= len(item) if type(item) in (list, tuple) else 1
        if room <= 0:
            break
    return type(value)(items)


def plain_text(value):
    try:
        return repr(shorten(value))
    except Exception as error:
        return f"<{type(value).__name__}: {type(error).__name__} in its repr>"


def show_text(value):
    """Adds a value that is no JSON as text: it can be looked at all the same. A coroutine is nothing to look at."""
    if not isinstance(value, types.CoroutineType):
        text = plain_text(value)
        add_display("text/plain", text if len(text) <= TEXT_MAX else f"{text[:TEXT_MAX]}…")


def display(*values):
    """Shows figures, tables, images and the like with the program's output."""
    for value in values:
        if is_figure(value):
            add_figure(value)
        elif not show_rich(value):
            add_display("text/plain", value if isinstance(value, str) else repr(value))


def is_figure(value):
    module = sys.modules.get("matplotlib.figure")
    return module is not None and isinstance(value, module.Figure)


def is_managed(figure):
    """Is it one of pyplot's, which are shown when the program ends?"""
    pyplot = sys.modules.get("matplotlib.pyplot")
    return pyplot is not None and any(one.canvas.figure is figure for one in pyplot._pylab_helpers.Gcf.figs.values())


def is_series(value):
    """A column of a table, which is shown as the table with this column alone."""
    module = sys.modules.get("pandas")
    return module is not None and isinstance(value, module.Series)


def is_table(value):
    module = sys.modules.get("pandas")
    return module is not None and isinstance(value, module.DataFrame)


class Table:
    """A DataFrame for machines: names of columns, index, the first rows, and how many rows there are."""

    def __init__(self, frame):
        self.frame = frame

    def encode(self):
        text = self.frame.head(TABLE_ROWS).to_json(orient="split", date_format="iso", default_handler=str)
        return f'{text[:-1]},"rows":{len(self.frame)}}}'


def bound_displays():
    """Leaves out what is more than the host takes. What is said about it, or None."""
    total = 0
    for place, shown in enumerate(displays):
        total += len(shown["data"]) + len(shown["mime"])
        if total > DISPLAYS_BYTES:
            left_out = len(displays) - place
            del displays[place:]
            message = f"displays left out: {left_out}; a program's displays may have {DISPLAYS_BYTES:,} bytes"
            return {"severity": "warning", "code": "DISPLAYS_EXCEEDED", "message": message, "hint": "write large data to a file"}
    return None


def add_figure(figure):
    target = io.BytesIO()
    figure.savefig(target, format="png", bbox_inches="tight")
    add_display("image/png", target.getvalue())


def show_left_figures():
    """Those of a program that failed: they are its output as much as what it printed."""
    try:
        show_figures()
    except MemoryError:
        raise
    except Exception as error:
        say(f"a figure could not be shown: {type(error).__name__}: {error}\n")
        sys.modules["matplotlib.pyplot"].close("all")


def show_figures(*args, **kwargs):
    """What `plt.show()` does, and what happens to figures still open when a program ends."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None and pyplot._pylab_helpers.Gcf.figs:
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            if figure.axes or figure.texts or figure.images:
                add_figure(figure)
        pyplot.close("all")


def backend(name):
    """A matplotlib backend, made when matplotlib asks for it."""
    if name not in ("FigureCanvas", "FigureManager"):
        raise AttributeError(name)
    from matplotlib.backends.backend_agg import FigureCanvasAgg, FigureManagerBase

    class Manager(FigureManagerBase):
        pyplot_show = staticmethod(show_figures)

        def show(self):
            """`figure.show()`: it is shown when the program ends."""

    class Canvas(FigureCanvasAgg):
        manager_class = Manager

    module = sys.modules["_hatchway_backend"]
    module.FigureCanvas, module.FigureManager = Canvas, Manager
    return getattr(module, name)


def keeping_backend(switch_backend):
    """`pyplot.switch_backend`, with which programs choose a window or none: where ours is, figures are drawn and shown."""

    @functools.wraps(switch_backend)
    def switch(newbackend):
        is_ours = isinstance(newbackend, str) and newbackend.lower().endswith(LIKE_OURS)
        switch_backend(BACKEND if is_ours else newbackend)

    return switch


def show_plotted(value):
    """Is it what plotting calls return, which is no result anyone wants as JSON? A figure that pyplot would not show is shown."""
    found = False
    level = [value]
    for _ in range(NESTED):
        below = []
        for one in level:
            kind = type(one)
            if kind in SCALARS:
                continue
            if kind is dict:
                below += itertools.islice(one.values(), LOOKED_AT)
            elif isinstance(one, (list, tuple)):
                below += itertools.islice(one, 1 if kind is list else LOOKED_AT)
            elif kind.__module__ == "numpy" and kind.__name__ == "ndarray" and one.dtype.hasobject:
                below += one.ravel()[:1].tolist()
            elif kind.__module__.startswith("seaborn."):
                found = True
            if kind.__module__.startswith("matplotlib."):
                found = True
                if is_figure(one) and not is_managed(one):
                    add_figure(one)
        level = below
    return found

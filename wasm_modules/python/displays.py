"""Displays: figures, tables, images and the like, shown beside a program's output."""

import base64
import io
import sys

from _hatchway.plain import encode

displays = []

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
    bundle = getattr(value, "_repr_mimebundle_", None)
    if callable(bundle):
        data = bundle()
        data = data[0] if isinstance(data, tuple) else data
        for mime, item in data.items():
            add_display(mime, item if isinstance(item, (str, bytes)) else encode(item))
        return bool(data)
    if is_series(value):
        value = value.to_frame()
    shown = False
    for name, mime in RICH:
        method = getattr(value, name, None)
        data = method() if callable(method) else None
        if data is not None:
            add_display(mime, data[0] if isinstance(data, tuple) else data)
            shown = True
    return shown


def display(*values):
    """Shows figures, tables, images and the like beside the program's output."""
    for value in values:
        if is_figure(value):
            add_figure(value)
        elif not show_rich(value):
            add_display("text/plain", value if isinstance(value, str) else repr(value))


def is_figure(value):
    module = sys.modules.get("matplotlib.figure")
    return module is not None and isinstance(value, module.Figure)


def is_series(value):
    """A column of a table, which is shown as the table with this column alone."""
    module = sys.modules.get("pandas")
    return module is not None and isinstance(value, module.Series)


def add_figure(figure):
    target = io.BytesIO()
    figure.savefig(target, format="png", bbox_inches="tight")
    add_display("image/png", target.getvalue())


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

    class Canvas(FigureCanvasAgg):
        manager_class = Manager

    module = sys.modules["_hatchway_backend"]
    module.FigureCanvas, module.FigureManager = Canvas, Manager
    return getattr(module, name)


def is_artist(value):
    """What plotting calls return: not a result anyone wants as JSON."""
    if isinstance(value, (list, tuple)) and value:
        value = value[0]
    return type(value).__module__.startswith(("matplotlib.", "seaborn."))

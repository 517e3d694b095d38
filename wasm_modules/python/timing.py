"""How long something takes, as notebooks tell it: `%time`, `%%time`, `%timeit`."""

import statistics
import time
import timeit

RUN_SECONDS = 0.02  # of one measurement: a run has few seconds in all
LOOPS_MAX = 10**7
UNITS = ((1, "s"), (1e-3, "ms"), (1e-6, "μs"), (1e-9, "ns"))


def show_time(seconds):
    """Three digits that count, and their unit."""
    if seconds >= 60:
        return f"{int(seconds // 60)}min {seconds % 60:.3g}s"
    size, unit = next((each for each in UNITS if seconds >= each[0]), UNITS[-1])
    return f"{seconds / size:.3g} {unit}"


class Stopwatch:
    def __init__(self):
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def stop(self):
        cpu, wall = time.process_time() - self._cpu, time.perf_counter() - self._wall
        print(f"CPU times: user {show_time(cpu)}, sys: 0 ns, total: {show_time(cpu)}\nWall time: {show_time(wall)}")


def run(text, names):
    """The value of an expression, or None of statements, which run while the clock does."""
    try:
        code = compile(text, "<timed eval>", "eval")
    except SyntaxError:
        code = compile(text, "<timed exec>", "exec")
    watch = Stopwatch()
    try:
        return eval(code, names)  # noqa: S307
    finally:
        watch.stop()


class Measured:
    """What `%timeit -o` gives."""

    def __init__(self, loops, timings):
        self.loops, self.repeat, self.timings = loops, len(timings), timings
        self.average, self.stdev = statistics.fmean(timings), statistics.pstdev(timings)
        self.best, self.worst = min(timings), max(timings)

    def __repr__(self):
        runs = f"{self.repeat} run{'s' if self.repeat != 1 else ''}, {self.loops:,} loop{'s' if self.loops != 1 else ''} each"
        return f"{show_time(self.average)} ± {show_time(self.stdev)} per loop (mean ± std. dev. of {runs})"


def measure(text, setup, names, loops, repeat):
    """With `loops` 0 as many as one measurement takes, a power of ten."""
    timer = timeit.Timer(text, setup or "pass", globals=names)
    if not loops:
        loops = 1
        while timer.timeit(loops) < RUN_SECONDS and loops < LOOPS_MAX:
            loops *= 10
    return Measured(loops, [seconds / loops for seconds in timer.repeat(repeat, loops)])

"""From a graph to a package: planned (`mid`), lowered (`low`), placed (`place`), emitted as code of
all tiles (`emit`) with what the host does around it (`host`), and put together (`build`)."""

"""What the engine does when it starts: loads early what its first sample needs, and no client that nobody asked for;
and treats a notebook like any other program."""

import sys
from contextvars import copy_context

from inspect_ai._util import platform
from inspect_ai.model import _assistant_internal as states

_CLIENTS = {
    "_HAS_OPENAI": "inspect_ai.model._openai_responses",
    "_HAS_ANTHROPIC": "inspect_ai.model._providers.anthropic",
}
"""What the engine keeps per sample for two providers, and the module that loads the provider's client for it."""


def ignore_notebooks() -> None:
    """To be called before a model is made.

    In a notebook the engine refuses to start without widgets, and changes how every event loop of the process works.
    It needs neither: there it runs in a thread of its own, and shows nothing.
    """
    setattr(platform, "running_in_notebook", lambda: False)  # noqa: B010 - a function of the engine


def ready_the_engine() -> None:
    """To be called when a model was made. On the event loop the same would be a standstill of seconds.

    The engine readies a state for each client that is installed, and so loads clients, seconds of the processor each,
    that no model of this process uses. A client whose module is there already is one that a model uses.
    """
    import inspect_ai.agent._acp.server  # noqa: F401 - heavy, and loaded although nothing is served

    for installed, module in _CLIENTS.items():
        if hasattr(states, installed):
            setattr(states, installed, module in sys.modules)
    copy_context().run(states.init_sample_assistant_internal)

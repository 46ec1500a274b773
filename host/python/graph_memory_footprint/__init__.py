"""How much GPU memory do my CUDA graphs hold, why, and how do I make it less?

The program is the script ``graph-memory-footprint``; ``python -m graph_memory_footprint``
runs the same one. This package holds no other code.
"""

import os
import shutil
import sysconfig

__all__ = ["program"]

_NAME = "graph-memory-footprint"


def program():
    """The path of the program that pip installed with this package.

    Raises ``FileNotFoundError`` if its script was removed.
    """
    folders = [sysconfig.get_path("scripts")]
    user = "nt_user" if os.name == "nt" else "posix_user"
    if user in sysconfig.get_scheme_names():
        folders.append(sysconfig.get_path("scripts", user))
    found = shutil.which(_NAME, path=os.pathsep.join(folders))
    if found is None:
        raise FileNotFoundError(
            "there is no %s in %s; try: python -m pip install --force-reinstall %s"
            % (_NAME, " or ".join(folders), _NAME)
        )
    return found

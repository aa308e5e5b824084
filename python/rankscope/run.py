"""Runs a script as it is, attached to RANKSCOPE_ATTACH:

    RANKSCOPE_ATTACH=tcp://127.0.0.1:5556 torchrun --nproc-per-node 4 -m rankscope.run train.py --its --arguments
    … -m rankscope.run -m package.module --its --arguments
"""
import os
import runpy
import sys


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    is_module = arguments[0] == "-m"
    if is_module and len(arguments) == 1:
        print("rankscope.run: -m needs a module's name", file=sys.stderr)
        return 2
    from .attach import attach_where_asked

    attachment = attach_where_asked()
    sys.argv = arguments[1:] if is_module else arguments
    failed, message = False, ""
    try:
        if is_module:
            sys.path.insert(0, os.getcwd())
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, os.path.dirname(os.path.abspath(arguments[0])))
            runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as end:
        failed, message = end.code not in (None, 0), "" if end.code in (None, 0) else f"it ended with {end.code}"
        raise
    except BaseException as error:
        failed, message = True, f"{type(error).__name__}: {error}"
        raise
    finally:
        if attachment is not None:
            attachment._finish(failed, message)
    return 0


if __name__ == "__main__":
    sys.exit(main())

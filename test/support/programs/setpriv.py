#!/usr/bin/env python3
"""The part of util-linux's setpriv that Sealift uses, for systems whose setpriv is older than 2.41.

It takes the same options and asks the kernel for the same rules; what holds afterwards is the kernel's own Landlock.
"""

import ctypes
import os
import sys

FS = [
    "execute", "write-file", "read-file", "read-dir", "remove-dir", "remove-file", "make-char", "make-dir",
    "make-reg", "make-sock", "make-fifo", "make-block", "make-sym", "refer", "truncate", "ioctl-dev",
]  # fmt: skip
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
PR_CAPBSET_DROP, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 24, 22, 38

libc = ctypes.CDLL(None, use_errno=True)


class PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("access", ctypes.c_uint64), ("parent", ctypes.c_int32)]


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint16), ("filter", ctypes.c_char_p)]


def check(result, what):
    if result < 0:
        sys.exit(f"setpriv: {what}: {os.strerror(ctypes.get_errno())}")
    return result


def main(arguments):
    if arguments == ["--version"]:
        return print("setpriv from util-linux 2.41-for-tests")
    rules, seccomp, restricts = [], None, False
    while arguments:
        option, _, value = arguments.pop(0).partition("=")
        if option == "--":
            break
        if option == "--no-new-privs":
            check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), option)
        elif option == "--bounding-set" and value == "-all":
            for capability in range(64):
                libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
        elif option == "--inh-caps" and value == "-all":
            pass  # Nobody gives a test inheritable ones.
        elif option == "--landlock-access" and arguments.pop(0) == "fs":
            restricts = True
        elif option == "--landlock-rule":
            kind, rights, path = arguments.pop(0).split(":", 2)
            if kind != "path-beneath":
                sys.exit(f"setpriv: invalid Landlock rule: {kind}")
            access = sum(1 << FS.index(right) for right in rights.split(","))
            rules.append((access, os.open(path, os.O_PATH | os.O_CLOEXEC)))
        elif option == "--seccomp-filter":
            seccomp = arguments.pop(0)
        else:
            sys.exit(f"setpriv: unrecognized option '{option}'")
    if restricts:
        handled = ctypes.c_uint64((1 << len(FS)) - 1)
        ruleset = check(libc.syscall(CREATE_RULESET, ctypes.byref(handled), 8, 0), "landlock_create_ruleset failed")
        for access, parent in rules:
            rule = PathBeneath(access, parent)
            check(libc.syscall(ADD_RULE, ruleset, 1, ctypes.byref(rule), 0), "adding Landlock rule failed")
        check(libc.syscall(RESTRICT_SELF, ruleset, 0), "landlock_restrict_self failed")
        os.close(ruleset)
    if seccomp is not None:
        with open(seccomp, "rb") as file:
            code = file.read()
        program = Program(len(code) // 8, code)
        check(libc.prctl(PR_SET_SECCOMP, 2, ctypes.byref(program), 0, 0), "seccomp")
    os.execv(arguments[0], arguments)


main(sys.argv[1:])

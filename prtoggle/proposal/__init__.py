"""New variants of reverse patches for releases that they do not apply to: found, written, tried, proposed.

:mod:`prtoggle.proposal.propose` is the face. Below it: ``bases`` (where it applies, and the way to the goal),
``carrying`` (the parts carried by :mod:`prtoggle.port`), ``writing`` (edits from two texts; ``atoms``, ``spelled``
and ``candidates`` are its steps), ``ranges``, ``yamltext`` and ``yamlpatch`` (versions and YAML).
"""

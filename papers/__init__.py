"""The experiments of four papers about these methods, once more; not part of the package.

``python -m papers rct``, ``ippw``, ``dpsc`` or ``cate``, from the top of the repository with the
packages of its extra ``dev``; ``make replicate-rct`` and so on set both up.
"""

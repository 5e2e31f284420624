"""The page on which a study is declared and protected: served to its own user, on this machine.

``desk`` knows the study and no web, ``guard`` says who is answered, ``server`` brings both
together; ``page`` holds what the browser is given.
"""

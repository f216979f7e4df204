"""The learners behind other libraries' interfaces, one module per library.

Nothing here is imported by ``import uli_fast``, and none of those libraries is
needed to import an adapter.
"""

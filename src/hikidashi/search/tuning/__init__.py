"""Training on a user's own questions: `hikidashi tools tune`.

The encoder stays as it is. A linear map on the vectors of questions is learnt (`engine/adapter.py`), so that
training takes seconds, needs numpy alone, and leaves the cached vectors of tools valid.
"""

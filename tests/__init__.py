from . import typechecker as typechecker  # the pytest plugin of jaxtyping looks it up here

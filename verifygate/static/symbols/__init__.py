"""The symbol table: programs, modules, scopes, bindings, import resolution."""

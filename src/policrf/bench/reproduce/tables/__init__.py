"""The paper's tables from finished cells; a cell that was not run says so."""

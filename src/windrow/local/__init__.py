"""The in-process engine: joins over Arrow tables."""

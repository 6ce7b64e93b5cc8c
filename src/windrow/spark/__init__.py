"""The engine on Spark. Nothing else in the package imports pyspark."""

"""What a package has to satisfy, one module per part of it."""

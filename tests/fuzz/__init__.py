"""Every parser and both doors against inputs that nobody meant: kept seeds, mutations of them, and bombs."""

"""A live study as a page: words first, then figures drawn by hand, then the numbers behind them."""

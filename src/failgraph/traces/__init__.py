"""Build failure graphs from spans: failures, hops, traces and queries on them. Knows no format."""

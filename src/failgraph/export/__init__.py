"""Import of saved rows and journals into a file or an OTLP endpoint, with a count of every row."""

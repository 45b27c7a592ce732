"""Made-up secrets and harmless lines, written before the patterns that are judged by them."""

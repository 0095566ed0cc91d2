prompt nested

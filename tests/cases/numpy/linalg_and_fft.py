"""numpy.linalg, numpy.fft, and products."""

import numpy as np

GRAPHS = 1


def fn(a, b):
    solved = (
        np.linalg.inv(a),
        np.linalg.det(a),
        np.linalg.solve(a, b),
        np.linalg.norm(a),
        np.linalg.norm(a, axis=0),
    )
    frequencies = np.fft.fft(a), np.fft.fftshift(b), np.fft.ifft(np.fft.fft(b)).real
    return (
        solved,
        frequencies,
        np.einsum("ij,j->i", a, b),
        np.dot(a, b),
        np.outer(b, b),
        np.trace(a),
        np.matmul(a, a),
    )


def inputs():
    return np.array([[2.0, 1.0], [0.5, 3.0]]), np.array([1.0, 2.0])


REFERENCE_WRONG = "numbers become arrays"

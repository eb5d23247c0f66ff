// The softmax at an inverse temperature, and what fitting that temperature needs of it.
#pragma once
#include "rows.hpp"

namespace infocal {

// Sums over samples of weight > 0 whose label is possible (its logit is not -inf), of the logits u taken from their
// row's maximum, under the softmax at the inverse temperature:
struct Tempered {
    double mass;      // of the samples
    double log_sum;   // log sum_k exp(t u_k), times the sample's weight, as all that follows
    double mean;      // of u
    double variance;  // of u
    double label;     // u of the label
    double beaten;    // mass of the samples whose label is not among the largest
};

// Both return the first row that holds NaN, +inf or nothing but -inf, or -1.
template <class T> struct Softmax {
    int64_t (*apply)(const Matrix<T> &, double inverse, const Result<T> &out, double *scratch);
    int64_t (*tempered)(const Matrix<T> &, const int64_t *labels, const double *weights, double inverse, Tempered &,
                        double *scratch);
};

struct Softmaxes {
    Softmax<float> single;
    Softmax<double> twice;
};

namespace softmaxes {
extern const Softmaxes baseline, avx2, avx512;
}

}  // namespace infocal

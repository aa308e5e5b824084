// Attention on the GPU against the CPU's: head sizes of both kernels, tails of tiles, shared keys, shifted diagonals, rings.
#include "tests/live/cuda/gpu_fixture.h"
#ifndef RANKSCOPE_TEST_ON_GPU
#include "live/kernels/cuda/attention_plain.h"
#include "live/kernels/cuda/attention_tiling.h"
#include "live/kernels/cuda/emulation/launches.h"
#endif

#include <cstdlib>

namespace live {
namespace {

class AttentionOnGpu : public OnGpu {};

struct Case {
    std::int64_t queries, keys;
    int headDim, heads, keyValueHeads;
    std::int64_t sequences;
    bool causal;
    std::int64_t diagonal;
    std::int64_t window = 0;
    int valueDim = 0;
};

// Tiles are 64 or 128 queries by 64 keys, backwards 128 by 64 or 64 by 32.
constexpr Case kCases[] = {
    {1, 1, 8, 1, 1, 1, true, 0},           {40, 40, 16, 2, 2, 2, true, 0},    {150, 150, 64, 2, 1, 1, true, 0},
    {70, 200, 64, 1, 1, 2, false, 0},      {70, 130, 64, 2, 2, 1, true, 60},  {200, 90, 32, 2, 1, 1, true, -50},
    {140, 140, 128, 1, 1, 1, true, 0},     {33, 100, 128, 4, 2, 1, false, 0}, {65, 65, 80, 1, 1, 1, true, 0},
    {20, 70, 5, 2, 1, 2, true, 3},         {9, 0, 16, 1, 1, 1, true, 0},      {150, 150, 64, 2, 1, 1, true, 0, 50},
    {90, 140, 16, 1, 1, 2, true, 20, 7},   {40, 20, 8, 1, 1, 1, true, 10, 9}, {70, 70, 24, 2, 2, 1, true, 0, 0, 16},
    {40, 40, 10, 2, 1, 2, true, 0, 5, 12},
};

TEST_P(AttentionOnGpu, ForwardAndGradientsAgree)
{
    for (std::size_t index = 0; index < std::size(kCases); ++index)
        for (const bool apart : {false, true}) { // results of another type, added to
            const Case& c = kCases[index];
            if (apart && index % 4 != 0)
                continue;
            SCOPED_TRACE(testing::Message() << c.queries << " queries, " << c.keys << " keys, head of " << c.headDim
                                            << ", diagonal " << c.diagonal << (apart ? ", fp32 results" : ""));
            const AttentionShape shape{.sequences = c.sequences,
                                       .heads = c.heads,
                                       .keyValueHeads = c.keyValueHeads,
                                       .headDim = c.headDim,
                                       .causal = c.causal,
                                       .diagonal = c.diagonal,
                                       .window = c.window,
                                       .valueDim = c.valueDim,
                                       .sharpness = index % 3 == 0 ? 1.25 : 1};
            const DType result = apart ? DType::f32 : twins().activation();
            const std::int64_t rows = c.queries * c.sequences, keyRows = c.keys * c.sequences, width = c.heads * c.headDim,
                               keyWidth = c.keyValueHeads * c.headDim, valueWidth = c.keyValueHeads * shape.valueSize(),
                               outWidth = c.heads * shape.valueSize(), gap = apart ? 8 : 0;
            const Twin q = twins().activations(rows, width, gap), k = twins().activations(keyRows, keyWidth, gap),
                       v = twins().activations(keyRows, valueWidth, gap), o = twins().make(rows, outWidth, result),
                       log = twins().make(rows, c.heads, DType::f32), dO = twins().activations(rows, outWidth),
                       dq = twins().random(rows, width, result), dk = twins().random(keyRows, keyWidth, result),
                       dv = twins().random(keyRows, valueWidth, result);
            both([&](Queue& queue, auto of) { queue.attention(shape, of(q), of(k), of(v), of(o), of(log)); });
            twins().expectSame(o, "o");
            twins().expectSame(log, "log-sum-exp", 1e-5F, 1e-3F);
            both([&](Queue& queue, auto of) {
                queue.attentionGradient(shape, of(q), of(k), of(v), of(o), of(log), of(dO), of(dq), of(dk), of(dv), apart);
            });
            twins().expectSame(dq, "dq", 1e-4F, 4e-2F);
            twins().expectSame(dk, "dk", 1e-4F, 6e-2F);
            twins().expectSame(dv, "dv", 1e-4F, 6e-2F);
        }
}

TEST_P(AttentionOnGpu, SinksAgree)
{
    constexpr std::int64_t kRows = 70, kHeads = 3, kHeadDim = 20;
    const Twin sinks = twins().sums(1, kHeads), o = twins().activations(kRows, kHeads * kHeadDim),
               log = twins().sums(kRows, kHeads), dO = twins().activations(kRows, kHeads * kHeadDim),
               dSinks = twins().sums(1, kHeads);
    both([&](Queue& queue, auto of) {
        queue.attentionSinks(kHeadDim, of(sinks), of(o), of(log));
        queue.attentionSinksGradient(kHeadDim, of(sinks), of(o), of(log), of(dO), of(dSinks));
    });
    twins().expectSame(o, "o");
    twins().expectSame(log, "log-sum-exp", 1e-5F, 1e-5F);
    twins().expectSame(dSinks, "dSinks", 1e-3F, 5e-1F);
}

TEST_P(AttentionOnGpu, BlocksOfKeysJoin)
{
    constexpr std::int64_t kRows = 40, kHeads = 2, kHeadDim = 16;
    const AttentionShape shape{.heads = kHeads, .keyValueHeads = kHeads, .headDim = kHeadDim};
    const Twin q = twins().activations(kRows, kHeads * kHeadDim), k = twins().activations(kRows, kHeads * kHeadDim),
               v = twins().activations(kRows, kHeads * kHeadDim), whole = twins().make(kRows, kHeads * kHeadDim, DType::f32),
               wholeLog = twins().make(kRows, kHeads, DType::f32), o = twins().make(kRows, kHeads * kHeadDim, DType::f32),
               log = twins().make(kRows, kHeads, DType::f32), block = twins().make(kRows, kHeads * kHeadDim, DType::f32),
               blockLog = twins().make(kRows, kHeads, DType::f32);
    gpu().attention(shape, q.gpu, k.gpu, v.gpu, whole.gpu, wholeLog.gpu);
    AttentionShape part = shape;
    gpu().attention(part, q.gpu, k.gpu.rowRange(0, 24), v.gpu.rowRange(0, 24), o.gpu, log.gpu);
    part.diagonal = -24;
    gpu().attention(part, q.gpu, k.gpu.rowRange(24, 16), v.gpu.rowRange(24, 16), block.gpu, blockLog.gpu);
    gpu().mergeAttention(kHeadDim, block.gpu, blockLog.gpu, o.gpu, log.gpu);
    const std::vector<float> joined = twins().values(o.gpu), expected = twins().values(whole.gpu);
    for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_NEAR(joined[i], expected[i], twins().isBfloat() ? 1e-2 : 1e-5) << "element " << i;
}

/// dq, dk and dv of one run of the backward kernels, whose warps take so many rows at a time; nothing where there is no GPU.
std::vector<std::vector<float>> gradientsWithRows(const char* rows, const Case& c)
{
    setenv("RANKSCOPE_CUDA_ATTENTION_ROWS", rows, 1);
    std::string why;
    std::unique_ptr<Device> device = gpuForTests(DType::bf16, &why);
    unsetenv("RANKSCOPE_CUDA_ATTENTION_ROWS");
    if (!device)
        return {};
    Twins twins(std::move(device)); // the same numbers each time
    const AttentionShape shape{.sequences = c.sequences,
                               .heads = c.heads,
                               .keyValueHeads = c.keyValueHeads,
                               .headDim = c.headDim,
                               .causal = c.causal,
                               .diagonal = c.diagonal};
    const auto make = [&](std::int64_t positions, int heads) {
        return twins.activations(positions * c.sequences, std::int64_t{heads} * c.headDim).gpu;
    };
    const Tensor q = make(c.queries, c.heads), k = make(c.keys, c.keyValueHeads), v = make(c.keys, c.keyValueHeads),
                 o = make(c.queries, c.heads), dO = make(c.queries, c.heads), dq = make(c.queries, c.heads),
                 dk = make(c.keys, c.keyValueHeads), dv = make(c.keys, c.keyValueHeads),
                 log = twins.sums(c.queries * c.sequences, c.heads).gpu;
    twins.gpu().attention(shape, q, k, v, o, log);
    twins.gpu().attentionGradient(shape, q, k, v, o, log, dO, dq, dk, dv, false);
    return {twins.values(dq), twins.values(dk), twins.values(dv)};
}

TEST(AttentionTiles, OfBothSizesGiveTheSameBits)
{
    for (const Case& c : {Case{90, 90, 64, 2, 1, 1, true, 0}, Case{40, 100, 64, 1, 1, 1, false, 0},
                          Case{100, 50, 32, 2, 1, 1, true, -50}, Case{70, 70, 128, 1, 1, 1, true, 0}}) {
        const auto narrow = gradientsWithRows("16", c), tall = gradientsWithRows("32", c);
        if (narrow.empty())
            GTEST_SKIP() << "no GPU to test on";
        EXPECT_EQ(narrow, tall) << c.queries << " queries, head of " << c.headDim;
    }
}

#ifndef RANKSCOPE_TEST_ON_GPU

// What a block may have: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
constexpr std::size_t kLeast = 99 << 10; ///< 8.6, 8.9 and 12.0: GeForce RTX 3090 to 5090, A10, A40, L4, L40S
constexpr std::size_t kOnA100 = 163 << 10, kOnH100 = 227 << 10;

TEST(AttentionTiles, OfAllKernelsFitEveryGpu)
{
    using cuda::AttentionTiles;
    for (const std::size_t limit : {kLeast, kOnA100, kOnH100})
        for (const AttentionTiles wanted : {AttentionTiles::rows16, AttentionTiles::rows32})
            EXPECT_LE(cuda::tilesThatFit(wanted, limit) == AttentionTiles::rows32
                          ? cuda::kMostSharedBytes<AttentionTiles::rows32>
                          : cuda::kMostSharedBytes<AttentionTiles::rows16>,
                      limit);
    for (const std::size_t bytes : {cuda::ForwardTiling<32>::kSharedBytes, cuda::ForwardTiling<64>::kSharedBytes,
                                    cuda::ForwardTiling<128>::kSharedBytes, cuda::plainSharedBytes(cuda::kPlainMaxDim)})
        EXPECT_LE(bytes, kLeast);
    EXPECT_EQ(cuda::tilesThatFit(AttentionTiles::rows32, kOnA100), AttentionTiles::rows32);
    EXPECT_EQ(cuda::tilesThatFit(AttentionTiles::rows16, kOnH100), AttentionTiles::rows16);
}

TEST(AttentionTiles, AreChosenByWhatABlockOfTheGpuMayHave)
{
    const Case longHeads{40, 40, 128, 1, 1, 1, true, 0};
    const auto plenty = gradientsWithRows("32", longHeads);
    cuda::emulation::setSharedBytesOfBlock(kLeast);
    const auto little = gradientsWithRows("32", longHeads);
    cuda::emulation::setSharedBytesOfBlock(kOnH100);
    EXPECT_EQ(plenty, little);
}

#endif

INSTANTIATE_TEST_SUITE_P(Types, AttentionOnGpu, testing::Values(DType::f32, DType::bf16),
                         [](const auto& parameter) { return std::string(dtypeName(parameter.param)); });

} // namespace
} // namespace live

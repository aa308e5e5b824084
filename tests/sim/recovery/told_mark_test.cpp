// Annotations as sentences tell of them: of real traces (TorchRec, torch) and of what others write.
#include "sim/recovery/told_mark.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace {

TEST(ToldMarks, AreThePartsThatTellAndAreFound)
{
    const std::pair<std::string, std::string> kMarks[] = {
        {"## forward ##", "forward"},
        {"## SplitsAllToAllAwaitable wait() ##", "SplitsAllToAllAwaitable wait()"},
        {"== step ==", "step"},
        {"*** load ***", "load"},
        {"## forward", "forward"},
        {"  padded  ", "padded"},
        {"Optimizer.step#Adagrad.step", "Adagrad.step"},
        {"Optimizer.zero_grad#SGD.zero_grad", "SGD.zero_grad"},
        {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "enumerate(DataLoader)"},
        {"<class 'torch.nn.modules.linear.Linear'>", "torch.nn.modules.linear.Linear"},
        {"DistributedDataParallel.forward", "DistributedDataParallel.forward"},
        {"iteration#7", "iteration#7"},
        {"#7", "#7"},
        {"__init__", "__init__"},
        {"--flag", "--flag"},
        {"c++", "c++"},
        {"a ## b", "a ## b"},
        {"####", "####"},
        {"## ##", "## ##"},
        {"nccl:all_reduce", "nccl:all_reduce"},
    };
    for (const auto& [mark, told] : kMarks) {
        EXPECT_EQ(sim::toldMark(mark), '"' + told + '"');
        EXPECT_NE(mark.find(told), std::string::npos) << "a search for it finds the mark";
    }
    EXPECT_EQ(sim::toldMark("## a\nb ##"), "\"a\\nb\"") << "one line";
    EXPECT_LT(sim::toldMark("## " + std::string(5000, 'x') + " ##").size(), 80U);
}

} // namespace

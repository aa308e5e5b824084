#include "live/comm/launch.h"
#include "sim/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace live {
namespace {

using ::testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

std::string messageOf(const Variables& variables, const LaunchFlags& flags = {})
{
    try {
        readLaunchEnvironment(variables, flags);
    } catch (const sim::Error& error) {
        return error.what();
    }
    return "";
}

TEST(Launch, WithoutALauncherThereIsOneProcess)
{
    const LaunchEnvironment launch = readLaunchEnvironment({{"HOME", "/root"}, {"MASTER_ADDR", "elsewhere"}});
    EXPECT_EQ(launch.launcher, Launcher::single);
    EXPECT_EQ(launch.process, 0);
    EXPECT_EQ(launch.processes, 1);
    EXPECT_EQ(launch.masterAddress, "127.0.0.1");
}

TEST(Launch, Torchrun)
{
    const Variables variables = {{"RANK", "11"},
                                 {"WORLD_SIZE", "16"},
                                 {"LOCAL_RANK", "3"},
                                 {"LOCAL_WORLD_SIZE", "8"},
                                 {"MASTER_ADDR", "10.0.0.1"},
                                 {"MASTER_PORT", "29500"}};
    const LaunchEnvironment launch = readLaunchEnvironment(variables);
    EXPECT_EQ(launch.launcher, Launcher::torchrun);
    EXPECT_EQ(launch.process, 11);
    EXPECT_EQ(launch.processes, 16);
    EXPECT_EQ(launch.localProcess, 3);
    EXPECT_EQ(launch.localProcesses, 8);
    EXPECT_EQ(launch.masterAddress, "10.0.0.1");
    EXPECT_EQ(launch.masterPort, 29500);
}

TEST(Launch, TorchrunsAgentKeepsThePortForItself)
{
    Variables variables = {
        {"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_PORT", "29500"}, {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
    EXPECT_EQ(readLaunchEnvironment(variables).masterPort, 29501);
    variables["TORCHELASTIC_USE_AGENT_STORE"] = "False";
    EXPECT_EQ(readLaunchEnvironment(variables).masterPort, 29500);
}

TEST(Launch, OpenMpiOnOneMachine)
{
    const Variables variables = {{"OMPI_COMM_WORLD_RANK", "2"},
                                 {"OMPI_COMM_WORLD_SIZE", "4"},
                                 {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                                 {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                                 {"PMIX_NAMESPACE", "1234567"}};
    const LaunchEnvironment launch = readLaunchEnvironment(variables);
    EXPECT_EQ(launch.launcher, Launcher::openMpi);
    EXPECT_EQ(launch.process, 2);
    EXPECT_EQ(launch.localProcesses, 4);
    EXPECT_EQ(launch.masterAddress, "127.0.0.1");
    EXPECT_GE(launch.masterPort, 20000);
    EXPECT_LT(launch.masterPort, 32768);

    Variables otherJob = variables;
    otherJob["PMIX_NAMESPACE"] = "1234568";
    EXPECT_NE(readLaunchEnvironment(otherJob).masterPort, launch.masterPort);
}

TEST(Launch, OpenMpiOnSeveralMachinesMustBeToldTheMaster)
{
    Variables variables = {{"OMPI_COMM_WORLD_RANK", "2"},
                           {"OMPI_COMM_WORLD_SIZE", "4"},
                           {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                           {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
    EXPECT_THAT(messageOf(variables), HasSubstr("set MASTER_ADDR"));
    variables["MASTER_ADDR"] = "node01";
    EXPECT_EQ(readLaunchEnvironment(variables).masterAddress, "node01");
}

TEST(Launch, SlurmsFirstHostIsTheMaster)
{
    const Variables variables = {{"SLURM_PROCID", "5"},
                                 {"SLURM_NTASKS", "8"},
                                 {"SLURM_LOCALID", "1"},
                                 {"SLURM_STEP_ID", "0"},
                                 {"SLURM_STEP_TASKS_PER_NODE", "4(x2)"},
                                 {"SLURM_STEP_NODELIST", "gpu[03-04]"},
                                 {"SLURM_JOB_ID", "777"}};
    const LaunchEnvironment launch = readLaunchEnvironment(variables);
    EXPECT_EQ(launch.launcher, Launcher::slurm);
    EXPECT_EQ(launch.process, 5);
    EXPECT_EQ(launch.localProcess, 1);
    EXPECT_EQ(launch.localProcesses, 4);
    EXPECT_EQ(launch.masterAddress, "gpu03");
}

TEST(Launch, ABatchScriptWithoutSrunIsOneProcess)
{
    EXPECT_EQ(readLaunchEnvironment({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}).launcher, Launcher::single);
}

/// salloc's shell is a step too, of a number that no srun gets; so is sbatch's script, where it has one.
TEST(Launch, AnInteractiveShellOfSlurmIsOneProcess)
{
    for (const char* step : {"4294967290", "4294967291"})
        EXPECT_EQ(readLaunchEnvironment({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_STEP_ID", step}}).launcher,
                  Launcher::single)
            << step;
}

TEST(Launch, PmiOfMpichAndIntel)
{
    const Variables variables = {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}};
    const LaunchEnvironment launch = readLaunchEnvironment(variables);
    EXPECT_EQ(launch.launcher, Launcher::pmi);
    EXPECT_EQ(launch.process, 1);
    EXPECT_EQ(launch.localProcess, 1);
}

TEST(Launch, FlagsBeatTorchrunBeatsOpenMpiBeatsSlurmBeatsPmi)
{
    Variables variables = {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}};
    EXPECT_EQ(readLaunchEnvironment(variables).launcher, Launcher::pmi);
    variables.insert({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"SLURM_STEP_ID", "0"}});
    EXPECT_EQ(readLaunchEnvironment(variables).launcher, Launcher::slurm);
    variables.insert({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
    EXPECT_EQ(readLaunchEnvironment(variables).launcher, Launcher::openMpi);
    variables.insert({{"RANK", "1"}, {"WORLD_SIZE", "2"}});
    EXPECT_EQ(readLaunchEnvironment(variables).launcher, Launcher::torchrun);
    LaunchFlags flags;
    flags.process = 0;
    flags.processes = 3;
    flags.masterAddress = "here";
    flags.masterPort = 5;
    const LaunchEnvironment launch = readLaunchEnvironment(variables, flags);
    EXPECT_EQ(launch.launcher, Launcher::flags);
    EXPECT_EQ(launch.processes, 3);
    EXPECT_EQ(launch.masterAddress, "here");
    EXPECT_EQ(launch.masterPort, 5);
}

TEST(Launch, AWrongVariableIsNamedWithItsValue)
{
    EXPECT_THAT(messageOf({{"RANK", "two"}, {"WORLD_SIZE", "4"}}), HasSubstr("RANK is \"two\""));
    EXPECT_THAT(messageOf({{"RANK", "4"}, {"WORLD_SIZE", "4"}}), HasSubstr("not below WORLD_SIZE = 4"));
    EXPECT_THAT(messageOf({{"RANK", "0"}, {"WORLD_SIZE", "0"}}), HasSubstr("WORLD_SIZE is \"0\""));
}

TEST(Launch, FirstHostOfASlurmList)
{
    EXPECT_EQ(firstSlurmHost("node[03-07,9]"), "node03");
    EXPECT_EQ(firstSlurmHost("node7"), "node7");
    EXPECT_EQ(firstSlurmHost("login,node[1-2]"), "login");
    EXPECT_EQ(firstSlurmHost("node[12,14],big1"), "node12");
    EXPECT_EQ(firstSlurmHost("rack[1-2]node[3-4],x"), "rack1node3");
    EXPECT_EQ(firstSlurmHost("node[1-2].site.org,x"), "node1.site.org");
    EXPECT_THROW(firstSlurmHost("node[1-2"), sim::Error);
}

} // namespace
} // namespace live

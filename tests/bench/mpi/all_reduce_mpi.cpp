// The yardstick of all_reduce_bench.cpp: MPI_Allreduce of the same sizes. mpirun -n 2 rankscope-bench-mpi
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <vector>

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (const int bytes : {4, 4 << 10, 64 << 10, 1 << 20, 16 << 20}) {
        std::vector<float> values(static_cast<std::size_t>(bytes) / sizeof(float), 0.0F);
        const int count = static_cast<int>(values.size());
        const int times = std::max(5, (32 << 20) / (bytes + 2048));
        std::vector<double> seconds;
        for (int batch = 0; batch < 60; ++batch) {
            MPI_Barrier(MPI_COMM_WORLD);
            const double start = MPI_Wtime();
            for (int i = 0; i < times; ++i)
                MPI_Allreduce(MPI_IN_PLACE, values.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
            seconds.push_back((MPI_Wtime() - start) / times);
        }
        std::sort(seconds.begin(), seconds.end());
        if (rank == 0)
            std::printf("all-reduce of %8d bytes: median %10.2f us, best %10.2f us\n", bytes, seconds[seconds.size() / 2] * 1e6,
                        seconds.front() * 1e6);
    }
    MPI_Finalize();
    return 0;
}

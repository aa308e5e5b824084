// A folder that one run writes to and no other meanwhile. The claim ends with the process, however that ends.
#pragma once

#include <filesystem>

namespace live::cli {

class FolderClaim {
public:
    /// topic: what its error begins with. Makes the folder where it is missing. Throws sim::Error while another run has it. Where
    /// it cannot be made or claimed (some network file systems) there is no claim: who writes to it will say what is wrong.
    FolderClaim(const std::filesystem::path& folder, const char* topic);
    ~FolderClaim();
    FolderClaim(const FolderClaim&) = delete;
    FolderClaim& operator=(const FolderClaim&) = delete;

private:
    int m_descriptor = -1;
};

} // namespace live::cli

#include "live/stream/keys.h"
#include "live/cli/command.h"
#include "live/cli/writable.h"
#include "sim/cli/options.h"

#include <iostream>
#include <memory>

namespace live::cli {

void addKeys(CLI::App& app)
{
    auto path = std::make_shared<std::string>();
    CLI::App* command = app.add_subcommand("keys", "Make a key pair for runs that are watched from other machines");
    command->add_option("NAME", *path, "File for the secret key; NAME.pub gets the public one")
        ->type_name("")
        ->required()
        ->check(sim::cli::notEmpty());
    command->callback([path] {
        checkWritable(*path + ".pub", "NAME");
        const KeyPair pair = createKeyFiles(*path);
        std::cout << pair.publicKey << "\n";
        std::cerr << "secret key in " << *path << ", public key in " << *path << ".pub\n";
    });
}

} // namespace live::cli

// orchestrator image: the base images that containers start from.
import type { Command } from "commander";
import { environmentSettings } from "../config.ts";
import { parseDockerAddress } from "../docker/address.ts";
import { imageOptions } from "../engines/choose-engine.ts";
import { ensureBaseOfPlatform, ensureImages, listImages } from "../images/image-commands.ts";
import { printLine, printNotice } from "../log.ts";
import { findOwnNpm } from "../npm/own-npm.ts";

export function addImage(program: Command): void {
  const image = program.command("image").description("The base images: pulled where a registry answers, else assembled from this machine.");
  image
    .command("build")
    .description("Makes sure that the base images are there.")
    .addHelpText("after", "\nExample:\n  orchestrator image build")
    .action(async () => ensureImages({ docker: dockerAddress(), ...imageOptions }, printLine));
  image
    .command("base")
    .description("Prints the image that the platform's own is to stand on; made first where no registry answers.")
    .addHelpText(
      "after",
      '\nExamples:\n  orchestrator image base\n  docker build --tag orchestrator --build-arg NODE_IMAGE="$(orchestrator image base)" .',
    )
    .action(async () => {
      const { searchPath, extraCaCerts } = environmentSettings();
      const npm = await findOwnNpm({ nodePath: process.execPath, searchPath, extraCaCerts });
      printLine(await ensureBaseOfPlatform({ docker: dockerAddress(), ...imageOptions }, { npm, progress: printNotice }));
    });
  image
    .command("ls")
    .description("Lists the images of orchestrator on this machine.")
    .addHelpText("after", "\nExample:\n  orchestrator image ls")
    .action(async () => {
      for (const line of await listImages({ docker: dockerAddress(), ...imageOptions })) printLine(line);
    });
}

const dockerAddress = () => parseDockerAddress(environmentSettings().dockerHost ?? undefined);

// orchestrator image: the base images that containers start from.
import type { Command } from "commander";
import { environmentSettings } from "../config.ts";
import { parseDockerAddress } from "../docker/address.ts";
import { imageOptions } from "../engines/choose-engine.ts";
import { ensureImages, listImages } from "../images/image-commands.ts";
import { printLine } from "../log.ts";

export function addImage(program: Command): void {
  const image = program.command("image").description("The base images: pulled where a registry answers, else assembled from this machine.");
  image
    .command("build")
    .description("Makes sure that the base images are there.")
    .addHelpText("after", "\nExample:\n  orchestrator image build")
    .action(async () => ensureImages({ docker: dockerAddress(), ...imageOptions }, printLine));
  image
    .command("ls")
    .description("Lists the images of orchestrator on this machine.")
    .addHelpText("after", "\nExample:\n  orchestrator image ls")
    .action(async () => {
      for (const line of await listImages({ docker: dockerAddress(), ...imageOptions })) printLine(line);
    });
}

const dockerAddress = () => parseDockerAddress(environmentSettings().dockerHost ?? undefined);

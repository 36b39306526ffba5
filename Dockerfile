# The platform's own image: control plane, gateways and nats-server. It stands on any image with Node 24, npm and glibc that has git
# or apt-get. Where a registry answers that is node:24-slim; where none does, "orchestrator image base" makes one from this machine.
# The classic builder will do, and no line needs a shell.
#
#   ./setup
#   docker build --tag orchestrator --build-arg NODE_IMAGE="$(npx --no orchestrator image base)" .
#
#   docker run --detach --name orchestrator --init --network host --restart unless-stopped --stop-timeout 60 \
#              --volume /var/run/docker.sock:/var/run/docker.sock --volume orchestrator-home:/home/orchestrator orchestrator
#   docker exec orchestrator orchestrator app create shop
#
# docs/operating.md says why each of these is there; docs/operating/compose.yaml is the same as a compose file.
# The socket is root on this machine; leave it out and functions run as processes inside this container ("--engine process").
ARG NODE_IMAGE=node:24-slim

FROM ${NODE_IMAGE} AS packages
LABEL orchestrator.image=platform
COPY package-lock.json /checkout/
COPY node_modules /checkout/node_modules
COPY orchestrator/images/copy-production-packages.mjs /checkout/
RUN ["/usr/local/bin/node", "/checkout/copy-production-packages.mjs", "/checkout", "/packages"]

FROM ${NODE_IMAGE}
LABEL orchestrator.image=platform
COPY orchestrator/images/add-git.mjs /opt/orchestrator/orchestrator/images/
RUN ["/usr/local/bin/node", "/opt/orchestrator/orchestrator/images/add-git.mjs"]
# A nats-server of 2.10.27 or newer, inside this folder. ./setup puts one here unless the PATH has one.
ARG NATS_SERVER=.tools/nats-server
COPY ${NATS_SERVER} /usr/local/bin/nats-server
ENV NATS_SERVER=/usr/local/bin/nats-server
WORKDIR /home/orchestrator
VOLUME /home/orchestrator
ENTRYPOINT ["/usr/local/bin/node", "/opt/orchestrator/orchestrator/bin.mjs"]
CMD ["serve", "--home", "/home/orchestrator"]
# For "docker exec": the command by its name.
RUN ["/usr/local/bin/node", "--eval", "fs.symlinkSync('/opt/orchestrator/orchestrator/bin.mjs', '/usr/local/bin/orchestrator')"]
COPY --from=packages /packages/node_modules /opt/orchestrator/node_modules
COPY package.json LICENSE /opt/orchestrator/
COPY runtime-image /opt/orchestrator/runtime-image
COPY gateway /opt/orchestrator/gateway
COPY orchestrator /opt/orchestrator/orchestrator

# The platform's own image: control plane, gateways and nats-server. It stands on any image with Node 24 and glibc, also on
# one that holds nothing else ("orchestrator image build" assembles such a one where no registry answers), so no line needs a shell.
#
#   ./setup
#   docker build --tag orchestrator .                  where a registry answers, else add
#                --build-arg NODE_IMAGE=…              the image that "orchestrator image ls" calls node-base
#
#   docker run --init --network host --volume /var/run/docker.sock:/var/run/docker.sock \
#              --volume orchestrator-home:/home/orchestrator --volume "$PWD/app:/app:ro" orchestrator
#
# --network host: gateways listen where visitors are, and the broker on the bridges that functions reach it by.
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
# A nats-server of 2.10.27 or newer, inside this folder. ./setup puts one here unless the PATH has one.
ARG NATS_SERVER=.tools/nats-server
COPY ${NATS_SERVER} /usr/local/bin/nats-server
COPY --from=packages /packages/node_modules /opt/orchestrator/node_modules
COPY package.json LICENSE /opt/orchestrator/
COPY runtime-image /opt/orchestrator/runtime-image
COPY gateway /opt/orchestrator/gateway
COPY orchestrator /opt/orchestrator/orchestrator
ENV NATS_SERVER=/usr/local/bin/nats-server
WORKDIR /home/orchestrator
VOLUME /home/orchestrator
ENTRYPOINT ["/usr/local/bin/node", "/opt/orchestrator/orchestrator/bin.mjs"]
CMD ["up", "/app", "--home", "/home/orchestrator"]

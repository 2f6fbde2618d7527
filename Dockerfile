# Build: one program with its packages inside. It is the same for every architecture.
FROM --platform=$BUILDPLATFORM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY rolldown.config.ts LICENSE ./
COPY release ./release
COPY bin ./bin
COPY src ./src
RUN npm run build

FROM node:24-bookworm-slim
ARG REVISION=""
ARG SOURCE=""
LABEL org.opencontainers.image.title="copilot-proxy" \
      org.opencontainers.image.description="GitHub Copilot models for OpenAI and Anthropic clients" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}"
ENV NODE_ENV=production \
    COPILOT_PROXY_HOME=/data \
    COPILOT_PROXY_LOG_FORMAT=json
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/bin ./bin
COPY --from=build /app/dist ./dist
# Logins are stored in /data; mount a volume there to keep them.
RUN mkdir -m 0700 /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 4141
# The port may be set in /data/config.yaml. While that file is invalid, the check uses the variable or 4141.
HEALTHCHECK --interval=30s --timeout=5s --start-period=5s \
  CMD port=$(node bin/copilot-proxy.cjs config get server.port || echo "${COPILOT_PROXY_SERVER_PORT:-4141}"); \
    node -e "fetch('http://127.0.0.1:$port/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"
# In a container the daemon listens beyond loopback, which needs a key (docs/network.md):
#   docker run --rm -v copilot-proxy:/data copilot-proxy key add docker
#   docker run -p 127.0.0.1:4141:4141 -v copilot-proxy:/data copilot-proxy
ENTRYPOINT ["node", "bin/copilot-proxy.cjs"]
CMD ["serve", "--host", "0.0.0.0"]

# Build: one program with its packages inside.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY rolldown.config.ts ./
COPY bin ./bin
COPY src ./src
RUN npm run build

FROM node:24-bookworm-slim
ENV NODE_ENV=production \
    COPILOT_PROXY_HOME=/data \
    COPILOT_PROXY_LOG_FORMAT=json
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/bin ./bin
COPY --from=build /app/dist ./dist
# The account's record lives in /data; mount a volume there to stay logged in.
RUN mkdir -m 0700 /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 4141
HEALTHCHECK --interval=30s --timeout=3s --start-period=5s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.COPILOT_PROXY_SERVER_PORT || 4141) + '/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Inside a container the port is only reachable when the daemon binds beyond loopback, and that needs a key:
#   docker run -p 127.0.0.1:4141:4141 -e COPILOT_PROXY_SERVER_API_KEYS=choose-one -v copilot-proxy:/data copilot-proxy
ENTRYPOINT ["node", "bin/copilot-proxy.cjs"]
CMD ["serve", "--host", "0.0.0.0"]

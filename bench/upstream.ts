import { createAutoMode } from '../src/demo/auto.ts'
import { openHost } from '../src/demo/host.ts'
import { DEFAULT_PACE } from '../src/demo/inference.ts'
import { copilotHeaders, createCopilotRoutes } from '../src/demo/routes.ts'
import { createTokenStore } from '../src/demo/tokens.ts'
import { MODELS } from '../test/upstreams/copilot/models.ts'
import { createPreparedRoutes } from '../test/upstreams/copilot/prepared-frames.ts'

// The simulated Copilot with prepared answers in a process of its own, so that its CPU time is not the proxy's. Prints its
// address and two credentials that it accepts: a GitHub token for the proxy, a Copilot token for the pipe.

const now = Date.now
const pace = () => DEFAULT_PACE
const tokens = createTokenStore({ now, scope: 'bench' })
const server = await openHost({}, ({ url }) => {
  const checks = createPreparedRoutes()
  const answer = createCopilotRoutes({ url, pace, tokens, auto: createAutoMode(now), now, models: MODELS, checks })
  return { headers: copilotHeaders, answer }
})
const { token } = tokens.issueCopilot({
  lifetimeSeconds: 86_400,
  sku: 'monthly_subscriber_quota',
  proxyEp: `127.0.0.1:${server.port}`,
})
const ready = { url: server.url, githubToken: tokens.issueGithub(), copilotToken: token }
process.stdout.write(`${JSON.stringify(ready)}\n`)

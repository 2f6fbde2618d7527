import { createAutoMode } from '../test/upstreams/copilot/auto.ts'
import { copilotHeaders, createCopilotRoutes } from '../test/upstreams/copilot/answer-routes.ts'
import { createGithub } from '../test/upstreams/copilot/github.ts'
import { createPreparedRoutes } from '../test/upstreams/copilot/prepared-frames.ts'
import { routeOf } from '../test/upstreams/copilot/routes.ts'
import { DEFAULT_COPILOT_SETTINGS } from '../test/upstreams/copilot/settings.ts'
import { createTokenStore } from '../test/upstreams/copilot/tokens.ts'
import { headerOf, openHost } from '../test/upstreams/http/host.ts'
import { textReply } from '../test/upstreams/http/outcome.ts'

// The simulated Copilot with prepared answers and without its checks, in a process of its own, so that its CPU time is not
// the proxy's. Prints its address and two credentials: a GitHub token for the proxy, a Copilot token for the pipe.

const now = Date.now
const settings = () => DEFAULT_COPILOT_SETTINGS
const tokens = createTokenStore({ now, scope: 'bench' })
const server = await openHost({}, ({ url }) => {
  const github = createGithub({ settings, tokens, now, url, pollAnswers: [] })
  const answer = createCopilotRoutes({ pace: settings, auto: createAutoMode(now), now, checks: createPreparedRoutes() })
  return {
    headers: copilotHeaders,
    answer: (hosted) => {
      const route = routeOf(hosted.request)
      if (route === undefined) return textReply(404, '404 page not found')
      const call = { header: (name: string) => headerOf(hosted.request, name), body: hosted.body }
      return github(route, call) ?? answer(route, hosted)
    },
  }
})
const { token } = tokens.issueCopilot({
  lifetimeSeconds: 86_400,
  sku: 'monthly_subscriber_quota',
  proxyEp: `127.0.0.1:${server.port}`,
})
const ready = { url: server.url, githubToken: tokens.issueGithub(), copilotToken: token }
process.stdout.write(`${JSON.stringify(ready)}\n`)

import { startDemoServer } from '../src/demo/server.ts'

// The simulated Copilot in a process of its own, so that its CPU time is not the proxy's. Prints its address and
// two credentials that it accepts: a GitHub token for the proxy, a Copilot token for the pipe.

const server = await startDemoServer()
const { token } = server.tokens.issueCopilot({
  lifetimeSeconds: 86_400,
  sku: 'monthly_subscriber_quota',
  proxyEp: `127.0.0.1:${server.port}`,
})
const ready = { url: server.url, githubToken: server.tokens.issueGithub(), copilotToken: token }
process.stdout.write(`${JSON.stringify(ready)}\n`)

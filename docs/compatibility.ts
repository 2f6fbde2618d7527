import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'

// compatibility.md: runs all scenarios with real clients (`npm run test:clients` and `npm run test:official`, some 20 minutes)
// and writes what passed. `npm run docs:compatibility` builds the program first.

const root = join(import.meta.dirname, '..')

const report = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      assertionResults: z.array(z.object({ fullName: z.string(), status: z.string() })),
    }),
  ),
})

interface Scenario {
  readonly file: string
  readonly title: string
  readonly status: string
}

/** Runs scenarios in their own process. Ends this one if they did not run. */
function runScenarios(program: string): readonly Scenario[] {
  const folder = mkdtempSync(join(tmpdir(), 'copilot-proxy-compatibility-'))
  const file = join(folder, 'report.json')
  try {
    spawnSync(
      process.execPath,
      [join(root, program), '--reporter=verbose', '--reporter=json', `--outputFile=${file}`],
      {
        stdio: 'inherit',
      },
    )
    const { testResults } = report.parse(JSON.parse(readFileSync(file, 'utf8')))
    return testResults.flatMap(({ name, assertionResults }) =>
      assertionResults.map(({ fullName, status }) => ({ file: name, title: fullName.trim(), status })),
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The first whose pattern fits the title, or else the file, of a scenario is its client. */
const clients = [
  {
    name: 'Claude Code',
    package: '@anthropic-ai/claude-code',
    pattern: /claude code|(?:launch|setup) claude\b|claude-code|auto-mode/i,
  },
  { name: 'Codex CLI', package: '@openai/codex', pattern: /codex/i },
  { name: 'opencode', package: 'opencode-ai', pattern: /opencode/i },
  { name: 'Copilot SDK', package: '@github/copilot-sdk', pattern: /copilot sdk/i },
  { name: 'Copilot language server', package: '@github/copilot-language-server', pattern: /language.server/i },
  { name: 'Copilot CLI', package: '@github/copilot', pattern: /copilot cli|byok|cli\.official/i },
  { name: 'acpx', package: 'acpx', pattern: /acpx/i },
  { name: 'MCP reference servers', package: undefined, pattern: /server-|reference-servers/i },
] as const

const others = 'Other'

function clientOf({ title, file }: Scenario): string {
  const base = file.split('/').at(-1) ?? ''
  const found = [title, base].map((text) => clients.find(({ pattern }) => pattern.test(text))).find(Boolean)
  return found?.name ?? others
}

const packages = z.object({ dependencies: z.record(z.string(), z.string()) })

function versionsIn(file: string): Readonly<Record<string, string>> {
  return packages.parse(JSON.parse(readFileSync(join(root, file), 'utf8'))).dependencies
}

const versions = { ...versionsIn('test/clients/package.json'), ...versionsIn('test/clients/official/package.json') }
const { version } = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')))

const scenarios = [...runScenarios('test/clients/run.ts'), ...runScenarios('test/clients/official/run.ts')]
const byClient = Map.groupBy(scenarios, clientOf)

const lines = [
  '# Compatibility',
  '',
  'Real clients from npm, without changes, work through the proxy against a simulated Copilot in a network of loopback alone. GitHub’s own',
  'programs also speak to that simulated Copilot directly, which has to accept all that they send.',
  '',
  `\`npm run docs:compatibility\` ran these scenarios and wrote this page on ${new Date().toISOString().slice(0, 10)}, with copilot-proxy ${version}, Node.js ${process.versions.node} on ${process.platform}.`,
  '',
  '| client | version | scenarios passed |',
  '| --- | --- | --- |',
]
for (const { name, package: pack } of [...clients, { name: others, package: undefined }]) {
  const own = byClient.get(name) ?? []
  if (own.length === 0) continue
  const passed = own.filter(({ status }) => status === 'passed').length
  lines.push(`| ${name} | ${(pack && versions[pack]) ?? 'several'} | ${passed} of ${own.length} |`)
}
for (const [name, own] of byClient) {
  lines.push('', `## ${name}`, '')
  for (const { title, status } of own) lines.push(status === 'passed' ? `- ${title}` : `- **${status}**: ${title}`)
}
writeFileSync(join(root, 'docs/compatibility.md'), `${lines.join('\n')}\n`)
if (scenarios.some(({ status }) => status === 'failed')) process.exitCode = 1

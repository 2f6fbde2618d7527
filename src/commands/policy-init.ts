import { hash } from 'node:crypto'
import { readdir, writeFile } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { errnoOf } from '../auth/records/record-fs.ts'
import { formatTable, type TableColumn } from '../terminal/table.ts'
import { visible, visibleLines } from '../terminal/visible.ts'
import { joinCommand } from '../workspace/command-line.ts'
import type { Folder } from '../workspace/folder.ts'
import { openConsents } from '../workspace/policy/consents.ts'
import { policyName } from '../workspace/policy/policy-file.ts'
import { maxProposingBytes, proposeRules, proposingFiles, type Proposal } from '../workspace/policy/propose-rules.ts'
import { ToolError } from '../workspace/tool-error.ts'
import { folderOf, openWorkspace } from './policy.ts'
import { CommandFailure, exitCode, writeJson } from './shared/command.ts'
import type { CommandContext, ExitCode, PolicyInitFlags } from './shared/command.ts'
import { confirm } from './shared/confirm.ts'
import { withFileErrors } from './shared/edit-file.ts'
import { loadSettings } from './shared/settings.ts'
import { findWorkspace, inHome, realPathOf } from './shared/workspace-folder.ts'

/**
 * Writes a policy with commented examples, and with the proposed commands if the person says yes.
 * @throws CommandFailure `failed` if there is one
 */
export async function policyInit(context: CommandContext, flags: PolicyInitFlags): Promise<ExitCode> {
  const folder = await openWorkspace(folderOf(context, flags))
  const path = join(folder.root, policyName)
  const names = new Set(await readdir(folder.root))
  if (names.has(policyName) && !flags.print) throw exists(path)
  const proposals = proposeRules(await textsOf(folder, names), names)
  if (flags.print) {
    context.stdout.write(policyWith(proposals, true))
    return exitCode.done
  }
  const isAccepted = proposals.length > 0 && (await isWanted(context, flags, proposals))
  const text = policyWith(proposals, isAccepted)
  await withFileErrors(
    (advice) => `${path} could not be created: ${advice}.`,
    () =>
      writeFile(path, text, { flag: 'wx' }).catch((error: unknown) => {
        throw errnoOf(error) === 'EEXIST' ? exists(path) : error
      }),
  )
  await confirmWritten(context, path, text)
  const rules = proposals.map(({ argv, file }) => ({ argv, file }))
  if (flags.json) writeJson(context, { path, proposed: rules, allowed: isAccepted })
  else context.stdout.write(visibleLines(`Created ${path}\n${endOf(proposals, isAccepted)}${changeHint}`))
  return exitCode.done
}

const changeHint = 'When you have changed it, confirm it: copilot-proxy policy trust\n'

/** The person has asked for this text, so nobody has to confirm it again. */
async function confirmWritten(context: CommandContext, path: string, text: string): Promise<void> {
  const { config, workspacesDir } = await loadSettings(context, undefined)
  const root = await realPathOf(inHome(context, (await findWorkspace(context, config, dirname(path))).path))
  const trust = relative(root, path).replaceAll(sep, '/')
  try {
    await openConsents(workspacesDir, root).add([{ trust, sha256: hash('sha256', text) }])
  } catch (cause) {
    if (!(cause instanceof ToolError)) throw cause
    const message = `Created ${path}, but it allows nothing until you confirm it with copilot-proxy policy trust: ${cause.message}`
    throw new CommandFailure(exitCode.failed, message, { cause })
  }
}

function exists(path: string): CommandFailure {
  const message = `${path} already exists. To print its rules, run: copilot-proxy policy check`
  return new CommandFailure(exitCode.failed, message)
}

/** The files are a stranger's: one that is no file, or too large, proposes nothing. */
async function textsOf(folder: Folder, names: ReadonlySet<string>): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>()
  for (const name of proposingFiles) {
    if (!names.has(name)) continue
    try {
      texts.set(name, (await folder.readFile(name, { maxBytes: maxProposingBytes })).bytes.toString('utf8'))
    } catch (error) {
      if (!(error instanceof ToolError)) throw error
    }
  }
  return texts
}

const proposalColumns: readonly TableColumn<Proposal>[] = [
  { title: 'COMMAND', cell: ({ argv }) => visible(joinCommand(argv)) },
  { title: 'FILE', cell: ({ file, runs }) => visible(runs === '' ? file : `${file}: ${runs}`) },
]

async function isWanted(
  context: CommandContext,
  { yes, json }: PolicyInitFlags,
  proposals: readonly Proposal[],
): Promise<boolean> {
  const out = json ? context.stderr : context.stdout
  out.write(`These files name commands:\n${formatTable(proposalColumns, proposals, out)}`)
  if (yes) return true
  if (!context.interactive) return false
  out.write('A rule for a command allows all that it starts, also when these files change later.\n')
  return confirm(context, 'Allow them in the policy?')
}

function endOf(proposals: readonly Proposal[], isAccepted: boolean): string {
  if (proposals.length === 0) return ''
  return isAccepted
    ? 'It allows these commands.\n'
    : 'These commands are comments in it, and it allows nothing. To allow one, remove its #, or run policy init --yes before there is a policy.\n'
}

/** @param isAccepted false: the commands are comments */
export function policyWith(proposals: readonly Proposal[], isAccepted: boolean): string {
  const given =
    proposals.length === 0
      ? [
          ['npm', 'test'],
          ['npm', 'run', 'lint'],
        ]
      : proposals.map(({ argv }) => argv)
  const mark = isAccepted && proposals.length > 0 ? '' : '# '
  // JSON is YAML, whatever the command contains.
  const entries = given.map((argv) => `    ${mark}- ${entryOf(joinCommand(argv))}\n`)
  return beforeCommands + entries.join('') + afterCommands
}

function entryOf(command: string): string {
  return /^[a-z][\w./ -]*$/i.test(command) ? command : JSON.stringify(command)
}

const beforeCommands = `# What agents and tools may change and run in this folder.
# While all rules below are comments, the agent asks before each change and each
# command, and all others only read, and no secrets.
# When you have changed this file, confirm it: copilot-proxy policy trust
# To check a file or a command, run:
#   copilot-proxy policy check src/index.ts
#   copilot-proxy policy check -- npm test

reads:
  # Files that look like secrets, such as .env and keys, are not read. To let tools
  # read one, add its exact path.
  allow:
    # - .env.test

  # Files and folders that tools neither read nor list nor search.
  deny:
    # - "**/secrets/**"

writes:
  # Files that may be written. A glob without a slash matches names in every folder.
  allow:
    # - "src/**/*.ts"
    # - "test/**"
    # - "*.md"

  # Files and folders that may not be written, even if allow matches them. .git,
  # node_modules, .agent-policy.yaml, secrets, and files that other programs obey
  # (.vscode/tasks.json, .github/workflows …) are always denied, unless allow has
  # the exact path of the file.
  deny:
    # - "**/dist/**"

shell:
  # Commands that may be run in this folder, with exactly these arguments. In another
  # folder, an entry must name it: { run: npm test, in: packages/* }. There is no shell:
  # no pipes, variables or wildcards. A command may run any program it starts, so
  # "npm test" also allows what the tests and package.json do.
  allow:
`

const afterCommands = `
  # Hosts that these commands may reach in the sandbox: the name of a host (ports 443
  # and 80), with another port, or all names below one.
  network:
    # - packages.example.com
    # - example.com:8443
    # - "*.example.com"

# A .agent-policy.yaml in a subfolder can only restrict these rules further.
`

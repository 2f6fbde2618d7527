import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { env, execPath } from 'node:process'
import { isSea } from 'node:sea'

/**
 * Runs in the sandbox: copies connections from a port of its loopback to the Unix socket of the proxy. Closing its standard output
 * tells the shell that it listens; /dev/null takes its place, because Node.js aborts if a socket does. A SIGTERM is for the command, which may need the network to end well.
 */
const forwarder = `
const { closeSync, openSync, writeSync } = require('node:fs'), { connect, createServer } = require('node:net')
for (const name of ['SIGTERM', 'SIGHUP', 'SIGINT']) process.on(name, () => {})
const server = createServer({ allowHalfOpen: true }, (client) => {
  const proxy = connect({ path: process.argv[1], allowHalfOpen: true })
  for (const [from, to] of [[client, proxy], [proxy, client]]) {
    from.pipe(to)
    from.on('error', () => to.destroy()).on('close', () => to.destroy())
  }
})
server.listen(0, '127.0.0.1', () => {
  writeSync(1, String(server.address().port))
  closeSync(1)
  openSync('/dev/null', 'w')
})`

/** Programs that the proxy is for: curl, git, pip, cargo and go, then fetch of Node.js, npm and Yarn. */
const addressVariables = [
  'http_proxy',
  'https_proxy',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'npm_config_proxy',
  'npm_config_https_proxy',
  'YARN_HTTP_PROXY',
  'YARN_HTTPS_PROXY',
]

const noProxy = 'localhost,127.0.0.1,::1'

/**
 * The shell becomes the command, which so keeps its process id, signals and exit code. The forwarder is a child of a subshell that
 * ends at once, so the command has no child that it did not start. It ends with the sandbox.
 */
const script = `
port=$("$1" --input-type=commonjs -e "$2" "$3" </dev/null 2>/dev/null &)
if [ -z "$port" ]; then echo 'The network of the sandbox could not be started.' >&2; exit 126; fi
export ${addressVariables.map((name) => `${name}="http://127.0.0.1:$port"`).join(' ')}
export no_proxy=${noProxy} NO_PROXY=${noProxy} NODE_USE_ENV_PROXY=1
shift 3
exec "$@"`

/** Returns the arguments that start a command behind a forwarder. @param node Node.js. @param socketPath as the sandbox sees it */
export function behindForwarder(
  argv: readonly [string, ...string[]],
  { node, socketPath }: { readonly node: string; readonly socketPath: string },
): readonly [string, ...string[]] {
  return ['/bin/sh', '-c', script, 'sh', node, forwarder, socketPath, ...argv]
}

/** Returns the Node.js of this program. Its single file is none, so then that of PATH; undefined if there is none. */
export async function findNode(isSingleFile = isSea()): Promise<string | undefined> {
  if (!isSingleFile) return execPath
  for (const folder of (env['PATH'] ?? '').split(':').filter((each) => isAbsolute(each))) {
    const path = join(folder, 'node')
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isThere) return path
  }
  return undefined
}

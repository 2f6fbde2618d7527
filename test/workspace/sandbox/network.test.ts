import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTcpServer, connect, type AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { beat, createEnclosed, describeEnclosed, expectEndWithRunner, fewPersons } from './enclosed.ts'

/** A loopback address that no other server of the tests has. The runner takes it for a public one. */
const outside = '127.0.0.2'

async function startServer(host: string, answer: RequestListener): Promise<number> {
  const server = createServer(answer).listen(0, host)
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server, 'listening')
  return portOf(server.address())
}

function portOf(address: AddressInfo | string | null): number {
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** Starts the host `registry.test`, which answers with its path, and one on the loopback of this machine. */
async function createHosts() {
  const asked: string[] = []
  const answer =
    (name: string): RequestListener =>
    ({ url = '', headers: { host } }, response) => {
      asked.push(`${name} ${host} ${url}`)
      response.setHeader('content-type', 'application/json').end(`{"path":"${url}"}\n`)
    }
  const port = await startServer(outside, answer('registry'))
  const ownPort = await startServer('127.0.0.1', answer('own'))
  const names = { 'registry.test': [[outside]], 'inner.registry.test': [[outside]] }
  return { asked, port, ownPort, given: { names, reachable: [outside] } as const }
}

const curl = 'curl -sS -m 20'

/** A tunnel, as for https, in which a request is sent. */
const tunnel = `${curl} --proxytunnel`

/** Sends the head of a request to the proxy and prints the answer. */
const raw = (head: string): string =>
  `node -e 'const { port } = new URL(process.env.HTTP_PROXY); const s = require("net").connect(port, "127.0.0.1");` +
  ` s.pipe(process.stdout); s.on("error", () => {}); s.write(${JSON.stringify(head)})'; echo`

describeEnclosed(
  'a command with a network',
  (person) => {
    test('reaches the hosts of its list, by a request and by a tunnel, and a command without one reaches none', async () => {
      const { asked, port, given } = await createHosts()
      const { scripts } = await createEnclosed(person)
      const network = [`registry.test:${port}`]
      const script = `${curl} http://registry.test:${port}/a && ${tunnel} http://registry.test:${port}/b`
      const [listed, without] = await scripts([{ script, network }, { script }], given)
      expect(listed).toMatchObject({ exitCode: 0, stdout: '{"path":"/a"}\n{"path":"/b"}\n', stderr: '', notes: [] })
      expect(without).toMatchObject({ exitCode: 6, stdout: '' })
      expect(without?.notes.join()).toContain('shell.network')
      expect(asked).toEqual([`registry registry.test:${port} /a`, `registry registry.test:${port} /b`])
    })

    test('does not reach other hosts and ports, and its answer says which setting allows them', async () => {
      const { asked, port, given } = await createHosts()
      const { scripts } = await createEnclosed(person)
      const script = `${curl} http://registry.test:${port}/; ${tunnel} http://registry.test:${port}/; ${curl} -H "Host: x.registry.test" http://registry.test:${port}/`
      const [ordinary, below, name, everything] = await scripts(
        [
          // Without a port, an entry is for 443 and 80.
          { script, network: ['registry.test'] },
          { script, network: [`*.registry.test:${port}`] },
          { script, network: [`notregistry.test:${port}`] },
          { script, network: 'public' },
        ],
        given,
      )
      const sentence =
        `The policy does not let commands reach registry.test:${port}. To allow it to the commands of the policy, ` +
        `add "registry.test:${port}" to shell.network in .agent-policy.yaml of the workspace.`
      for (const each of [ordinary, below, name]) {
        expect(each?.stdout).toBe(`${sentence}\n${sentence}\n`)
        expect(each?.stderr).toContain('response 403')
        expect(each?.notes).toEqual([sentence])
      }
      expect(everything?.notes.join()).toContain('only the ports 443 and 80')
      expect(asked).toEqual([])
    })

    test('says that it needs a network, and reaches every public host if a person allows it', async () => {
      const { scripts } = await createEnclosed(person)
      const script = `${curl} -f http://registry.test/`
      const network = ['other.test']
      const results = await scripts(
        [
          { script },
          { script, network },
          { script, widening: 'network', network },
          { script: `${curl} -f http://10.0.0.1/`, network },
          { script: `${curl} --noproxy '*' http://registry.test/`, network },
          { script: `${curl} http://registry.test/`, network },
        ],
        { names: { 'registry.test': [[outside]] }, reachable: [outside] },
      )
      expect(results.map(({ exitCode, needs }) => [exitCode, needs])).toEqual([
        [6, 'network'],
        [22, 'network'],
        // Nothing listens there.
        [22, ''],
        [22, ''],
        // It does not use the proxy.
        [6, 'unsandboxed'],
        [0, ''],
      ])
      expect(results[2]?.stderr).toContain('502')
    })

    test('reaches subdomains by a pattern', async () => {
      const { port, given } = await createHosts()
      const { scripts } = await createEnclosed(person)
      const script = `${curl} http://inner.registry.test:${port}/a && ${curl} http://INNER.registry.TEST.:${port}/b`
      const [result] = await scripts([{ script, network: [`*.registry.test:${port}`] }], given)
      expect(result).toMatchObject({ exitCode: 0, stdout: '{"path":"/a"}\n{"path":"/b"}\n' })
    })

    test('does not reach this machine and private networks, by any notation or name', async () => {
      const { asked, ownPort, given } = await createHosts()
      const names = {
        ...given.names,
        'evil.test': [['127.0.0.1']],
        'private.test': [['10.1.2.3', '169.254.169.254', 'fd00::1', '::ffff:127.0.0.1']],
        // The second look-up would be this machine.
        'rebinding.test': [[outside], ['127.0.0.1']],
      }
      const literal = [
        '127.0.0.1',
        '127.1',
        '0x7f.1',
        '0x7f000001',
        '2130706433',
        '017700000001',
        '0',
        '0.0.0.0',
        '[::1]',
        '[::]',
        '[::ffff:127.0.0.1]',
        '[::ffff:7f00:1]',
        '[64:ff9b::7f00:1]',
        '[2002:7f00:1::]',
        'localhost',
        'LOCALHOST.',
        'x.localhost',
        '10.0.0.1',
        '172.16.0.1',
        '192.168.0.1',
        '100.64.0.1',
        '169.254.169.254',
        '168.63.129.16',
        '224.0.0.1',
        '255.255.255.255',
        '[fe80::1]',
        '[fe80::1%25lo]',
        '[fd00:ec2::254]',
        '[ff02::1]',
      ]
      const ports = [ownPort, 80, 443]
      const targets = [...literal, 'evil.test', 'private.test'].flatMap((host) =>
        ports.map((port) => `${host}:${port}`),
      )
      const script = `
      const net = require('node:net'), { port } = new URL(process.env.HTTP_PROXY)
      const ask = (head) => new Promise((resolve) => {
        let text = ''
        const socket = net.connect(port, '127.0.0.1', () => socket.end(head))
        socket.on('data', (part) => (text += part)).on('error', () => {}).on('close', () => resolve(text.slice(9, 12)))
      })
      async function run() {
        for (const target of ${JSON.stringify(targets)}) {
          const tunnel = await ask('CONNECT ' + target + ' HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n')
          const get = await ask('GET http://' + target + '/ HTTP/1.1\\r\\nHost: registry.test\\r\\nConnection: close\\r\\n\\r\\n')
          if (!/^40[03]$/.test(tunnel) || !/^40[03]$/.test(get)) console.log(target, tunnel, get)
        }
      }
      void run()`
      const { scripts } = await createEnclosed(person, { 'ask.cjs': script })
      const [open, listed] = await scripts(
        [
          { script: 'node ask.cjs', network: 'public' },
          { script: 'node ask.cjs', network: ports.flatMap((port) => [`evil.test:${port}`, `private.test:${port}`]) },
        ],
        { ...given, names },
      )
      expect(open).toMatchObject({ exitCode: 0, stdout: '', stderr: '' })
      expect(listed).toMatchObject({ exitCode: 0, stdout: '', stderr: '' })
      expect(listed?.notes.join()).toContain('of this machine or of a private network')
      const [rebound] = await scripts(
        [{ script: `${curl} http://rebinding.test:${ownPort}/`, network: [`rebinding.test:${ownPort}`] }],
        { ...given, names },
      )
      expect(rebound?.stdout).toContain('could not be reached')
      expect(asked).toEqual([])
    })

    test('goes past the proxy nowhere, and finds no socket of other commands', async () => {
      const { ownPort, port, given } = await createHosts()
      const { scripts } = await createEnclosed(person)
      const script =
        `curl -sS --noproxy "*" http://127.0.0.1:${ownPort}/; curl -sS --noproxy "*" http://${outside}:${port}/;` +
        'find /tmp /run /var -type s 2>/dev/null; ls /var/cache'
      const [result] = await scripts([{ script, network: [`registry.test:${port}`] }], given)
      expect(result).toMatchObject({ exitCode: 0, stdout: 'network-proxy\n' })
      expect(result?.stderr.match(/Couldn't connect/g)).toHaveLength(2)
    })

    test('cannot harm the proxy by what it sends', async () => {
      const { port, given } = await createHosts()
      const { scripts } = await createEnclosed(person)
      const [result] = await scripts(
        [
          {
            script: [
              raw('GET / HTTP/1.1\r\nHost: registry.test\r\n\r\n'),
              raw(`CONNECT registry.test:${port}@127.0.0.1:80 HTTP/1.1\r\n\r\n`),
              raw('CONNECT registry.test:99999 HTTP/1.1\r\nHost: x\r\n\r\n'),
              raw('GET ftp://registry.test/ HTTP/1.1\r\nHost: x\r\n\r\n'),
              raw(`GET http://x/ HTTP/1.1\r\nHost: x\r\nLong: ${'x'.repeat(20_000)}\r\n\r\n`),
              raw('\u0000\u0001\r\n\r\n'),
              `${curl} http://registry.test:${port}/fine`,
            ].join('\n'),
            network: [`registry.test:${port}`],
          },
        ],
        given,
      )
      expect(result?.stdout.match(/HTTP\/1\.1 4\d\d/g)).toHaveLength(6)
      expect(result?.stdout).toContain('{"path":"/fine"}')
    })

    test('gets a limited number of connections, which end with it', async () => {
      const hanging = Promise.withResolvers<void>()
      const closed = Promise.withResolvers<void>()
      const port = await startServer(outside, ({ url = '' }, response) => {
        if (url === '/hang') {
          hanging.resolve()
          response.once('close', closed.resolve)
        } else void (url === '/ready' ? hanging : closed).promise.then(() => response.end('yes'))
      })
      const { scripts } = await createEnclosed(person)
      const network = [`registry.test:${port}`]
      const many = `
      const { port } = new URL(process.env.HTTP_PROXY)
      let refused = 0
      for (let i = 0; i < 130; i += 1)
        require('node:net').connect(port, '127.0.0.1').on('error', () => {}).on('close', () => {
          if ((refused += 1) === 30) setTimeout(() => { console.log(refused); process.exit() }, 200)
        })`
      const [limited, ready, after] = await scripts(
        [
          { script: `node -e '${many.replaceAll("'", '"')}'`, network },
          {
            script: `setsid ${curl} http://registry.test:${port}/hang & ${curl} http://registry.test:${port}/ready`,
            network,
          },
          { script: `${curl} http://registry.test:${port}/closed`, network },
        ],
        { names: { 'registry.test': [[outside]] }, reachable: [outside] },
      )
      expect([limited?.stdout, ready?.stdout, after?.stdout]).toEqual(['30\n', 'yes', 'yes'])
    })

    test('opens no connections by requests that do not wait for answers', async () => {
      let requests = 0
      const port = await startServer(outside, ({ url }, response) => {
        if (url === '/after') response.end(String(requests))
        else requests += 1
      })
      const { scripts } = await createEnclosed(person)
      const head = `GET http://registry.test:${port}/ HTTP/1.1\r\nHost: x\r\n\r\n`
      const [result] = await scripts(
        [
          {
            script: `${raw(head.repeat(50))}; ${curl} http://registry.test:${port}/after`,
            network: [`registry.test:${port}`],
          },
        ],
        { names: { 'registry.test': [[outside]] }, reachable: [outside] },
      )
      expect(Number(result?.stdout.trim())).toBeLessThanOrEqual(1)
      expect(result?.exitCode).toBe(0)
    })

    test('keeps the exit code, the signals, the output and the children of the command', async () => {
      const { port, given } = await createHosts()
      const { scripts } = await createEnclosed(person)
      const network = [`registry.test:${port}`]
      const [failed, killed, stopped, children, stdin] = await scripts(
        [
          { script: 'echo out; echo err >&2; exit 7', network },
          { script: 'kill -SEGV $$', network },
          {
            script: `trap 'echo stopped; exit 3' TERM; while :; do sleep 0.05; done`,
            timeoutMs: 10_000,
            network,
          },
          { script: 'cat /proc/$$/task/$$/children', network },
          { script: 'kill -KILL 0', network },
        ],
        given,
      )
      expect(failed).toMatchObject({ exitCode: 7, stdout: 'out\n', stderr: 'err\n', notes: [] })
      expect(killed).toMatchObject({ exitCode: 139, stdout: '', stderr: '' })
      expect(stopped).toMatchObject({ exitCode: 3, stdout: 'stopped\n', timedOut: true })
      // Only `cat` itself.
      expect(children?.stdout).toMatch(/^\d+ $/)
      expect(stdin?.exitCode).toBe(137)
    })

    test('uses it with fetch of Node.js, npm and git', async () => {
      const { asked, port, given } = await createHosts()
      const { scripts } = await createEnclosed(person)
      const url = `http://registry.test:${port}`
      const [fetched, pinged, cloned] = await scripts(
        [
          {
            script: `'${process.execPath}' -e 'fetch("${url}/fetch").then(async (r) => console.log(await r.text()))'`,
            network: [`registry.test:${port}`],
          },
          { script: `npm ping --registry=${url}`, network: [`registry.test:${port}`] },
          { script: `git ls-remote ${url}/project.git`, network: [`registry.test:${port}`] },
        ],
        given,
      )
      expect(fetched).toMatchObject({ exitCode: 0, stdout: '{"path":"/fetch"}\n\n' })
      expect(pinged).toMatchObject({ exitCode: 0 })
      expect(cloned?.exitCode).not.toBe(0)
      const paths = asked.map((each) => each.split(' ')[2])
      expect(paths).toEqual(
        expect.arrayContaining(['/fetch', '/-/ping', '/project.git/info/refs?service=git-upload-pack']),
      )
    })

    test('goes through the proxy of the daemon to hosts of its list only', async () => {
      const { port, given, asked } = await createHosts()
      const { scripts } = await createEnclosed(person)
      const connections: string[] = []
      const company = createTcpServer((client) => {
        client.once('data', (head) => {
          connections.push(head.toString('latin1').split('\r\n')[0] ?? '')
          const upstream = connect(port, outside)
          client.on('error', () => upstream.destroy())
          upstream.on('error', () => client.destroy())
          if (head.toString('latin1').startsWith('CONNECT')) client.write('HTTP/1.1 200 OK\r\n\r\n')
          else upstream.write(head)
          client.pipe(upstream).pipe(client)
        })
      }).listen(0, '127.0.0.1')
      onTestFinished(() => void company.close())
      await once(company, 'listening')
      const proxy = { HTTP_PROXY: `http://127.0.0.1:${portOf(company.address())}` }
      // No name has an address here.
      const script = `${curl} http://registry.test/a; ${tunnel} http://registry.test/b; ${curl} http://10.0.0.1/`
      const [listed, open] = await scripts(
        [
          { script, network: ['registry.test'] },
          { script: `${curl} http://registry.test/a`, network: 'public' },
        ],
        { ...given, names: {}, proxy },
      )
      expect(listed?.stdout).toMatch(
        /^\{"path":"http:\/\/registry.test\/a"\}\n\{"path":"\/b"\}\nCommands do not reach 10/,
      )
      expect(connections).toEqual(['GET http://registry.test/a HTTP/1.1', 'CONNECT registry.test:80 HTTP/1.1'])
      expect(open?.stdout).toContain('HTTP_PROXY is set, so the address of the name cannot be checked')
      expect(asked).toHaveLength(2)
    })

    test('ends with the daemon, also after kill -9', async () => {
      const { port, given: hosts } = await createHosts()
      const { root, given, user } = await createEnclosed(person)
      const script = `${curl} http://registry.test:${port}/; ${beat}`
      const commands = [{ script, network: [`registry.test:${port}`] }]
      await expectEndWithRunner(root, user, { ...given, ...hosts, commands })
    })
  },
  fewPersons,
)

import { WebSocket } from 'ws'

// Providers for bench/lib/gateway-host.ts: connects `count` times to `url`, echoes what a bare server sends, and answers as a
// provider what a gateway sends.

const [url = '', token = '', session = '', count = '1'] = process.argv.slice(2)

function connect(number: number): void {
  const socket = new WebSocket(url)
  const send = (message: object): void => socket.send(JSON.stringify(message))
  socket.on('open', () => {
    if (token !== '') send({ type: 'auth', token })
  })
  socket.on('message', (data) => {
    const text = (data as Buffer).toString()
    if (token === '') {
      socket.send(text)
      return
    }
    const { type, id } = JSON.parse(text) as { type: string; id: string }
    const tools = [{ name: `echo${number}`, description: 'Echo', parameters: { type: 'object' } }]
    if (type === 'sessions') send({ type: 'hello', name: `p${number}`, protocolVersion: 2, session, tools })
    if (type === 'tool.call') send({ type: 'tool.result', id, data: 'pong' })
  })
}

for (let number = 0; number < Number(count); number += 1) connect(number)
process.stdout.write('connecting\n')

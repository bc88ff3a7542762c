// SPDX-License-Identifier: Apache-2.0
// tls_proxy.js PORT CERTIFICATE KEY [AUTHORITY] - speaks TLS with those who come, and passes on to the loopback port PORT
// what they say. Says `ready` and its own port when it listens. With AUTHORITY it lets in only those with a certificate
// of that authority.
'use strict';
const { readFileSync } = require('fs');
const net = require('net');
const tls = require('tls');
const [port, certificate, key, authority] = process.argv.slice(2);

const options = { noDelay: true, cert: readFileSync(certificate), key: readFileSync(key) };
if (authority) Object.assign(options, { ca: readFileSync(authority), requestCert: true, rejectUnauthorized: true });

const door = tls.createServer(options, (client) => {
  const server = net.connect({ port: Number(port), host: '127.0.0.1', noDelay: true });
  client.pipe(server).pipe(client);
  // What ends or breaks on one side ends on the other.
  for (const [here, there] of [[client, server], [server, client]]) {
    here.on('error', () => there.destroy());
    here.on('close', () => there.destroy());
  }
});
door.listen({ port: 0, host: '127.0.0.1' }, () => console.log('ready ' + door.address().port));

package postgres

// Address is where a pool connects to and as whom, for people to read. It holds no secret. With
// several hosts in the connection string it names the first.
type Address struct {
	Host, Database, User string
	Port                 uint16
}

// Address tells where the pool connects to, without connecting.
func (p *Pool) Address() Address {
	return Address{Host: p.target.host, Database: p.target.database, User: p.target.user, Port: p.target.port}
}

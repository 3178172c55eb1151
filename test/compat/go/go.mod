module widerow/test/compat/go

go 1.26

require github.com/aliyun/aliyun-tablestore-go-sdk v1.8.0
